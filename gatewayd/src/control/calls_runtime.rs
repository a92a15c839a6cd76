//! The calls of `pingora.panel.gateway.v1.GatewayRuntime`.

use std::sync::Arc;

use tokio::sync::mpsc;
use tonic::{Request, Response, Status};

use super::admission::{Admission, Peer};
use super::{convert, refusal};
use crate::clock;
use crate::proto::runtime::gateway_runtime_server::GatewayRuntime;
use crate::proto::runtime::*;
use crate::release;
use crate::reload::{Generation, Refused, Reload};

/// Rises when something is added to the interface.
const CONTROL_VERSION: u32 = 4;

/// What the calls are about.
pub(super) struct Calls {
    pub(super) reload: Arc<Reload>,
    pub(super) admission: Arc<Admission>,
    /// Told when somebody wants the process to end.
    pub(super) ask: mpsc::Sender<()>,
}

/// Says in the log who asked for a change.
pub(super) fn asked<T>(request: &Request<T>, what: &str) {
    let peer = request.extensions().get::<Peer>();
    let peer = peer.map(ToString::to_string).unwrap_or_default();
    tracing::info!(peer, what, "control: asked");
}

pub(super) fn refused(refused: Refused) -> Status {
    refusal::status(&refused)
}

#[tonic::async_trait]
impl GatewayRuntime for Calls {
    async fn get_data_plane(
        &self,
        _: Request<GetDataPlaneRequest>,
    ) -> Result<Response<DataPlane>, Status> {
        Ok(Response::new(self.data_plane()))
    }

    async fn reload_data_plane(
        &self,
        request: Request<ReloadDataPlaneRequest>,
    ) -> Result<Response<ReloadDataPlaneResponse>, Status> {
        asked(&request, "reload");
        let generation = match request.get_ref().new_generation {
            true => Generation::Another,
            false => Generation::WhereNeeded,
        };
        let change = self.reload.reload(generation).await.map_err(refused)?;
        let change = Some(convert::change(&change));
        Ok(Response::new(ReloadDataPlaneResponse { change }))
    }

    async fn set_worker_count(
        &self,
        request: Request<SetWorkerCountRequest>,
    ) -> Result<Response<SetWorkerCountResponse>, Status> {
        asked(&request, "set the worker count");
        let count = request.get_ref().count;
        self.reload.set_workers(count).await.map_err(refused)?;
        let now = self.reload.data_plane();
        Ok(Response::new(SetWorkerCountResponse {
            workers: convert::count(now.workers),
            generation: now.generation,
        }))
    }

    async fn shutdown_gateway(
        &self,
        request: Request<ShutdownGatewayRequest>,
    ) -> Result<Response<ShutdownGatewayResponse>, Status> {
        asked(&request, "stop");
        // Somebody may have asked before.
        let _ = self.ask.try_send(());
        Ok(Response::new(ShutdownGatewayResponse {}))
    }

    async fn list_upstream_health(
        &self,
        request: Request<ListUpstreamHealthRequest>,
    ) -> Result<Response<ListUpstreamHealthResponse>, Status> {
        let asked = &request.get_ref().pool;
        let mut pools = self.reload.pools();
        pools.retain(|pool| asked.is_empty() || *pool.name == **asked);
        if pools.is_empty() && !asked.is_empty() {
            return Err(no_such(&format!("pool `{asked}`")));
        }
        let pools = pools.into_iter().map(convert::pool).collect();
        Ok(Response::new(ListUpstreamHealthResponse { pools }))
    }

    async fn set_endpoint_drained(
        &self,
        request: Request<SetEndpointDrainedRequest>,
    ) -> Result<Response<SetEndpointDrainedResponse>, Status> {
        asked(&request, "drain");
        let SetEndpointDrainedRequest {
            pool,
            node,
            drained,
        } = request.into_inner();
        let done = self.reload.set_drained(pool.clone(), node.clone(), drained);
        done.await.map_err(refused)?;
        let pools = self.reload.pools().into_iter();
        let nodes = pools
            .filter(|one| *one.name == *pool)
            .flat_map(|one| one.nodes);
        let node = nodes.into_iter().find(|one| *one.name == *node);
        let node = node.map(convert::node);
        Ok(Response::new(SetEndpointDrainedResponse { node }))
    }
}

impl Calls {
    fn data_plane(&self) -> DataPlane {
        let status = self.reload.status().clone();
        let plane = self.reload.data_plane();
        let draining = plane.draining.iter().map(|one| DrainingGeneration {
            generation: one.generation,
            since: Some(convert::time(one.since)),
            connections: one.connections,
            deadline: Some(convert::time(one.until)),
        });
        let uptime = clock::wall().duration_since(plane.started).ok();
        DataPlane {
            generation: plane.generation,
            generation_started: Some(convert::time(plane.since)),
            workers: convert::count(plane.workers),
            draining: draining.collect(),
            listeners: plane.listeners.into_iter().map(convert::listener).collect(),
            snapshot: Some(convert::active(&status.active)),
            owner: Some(convert::owner(self.reload.who())),
            overrides: Some(convert::overrides(&status.overrides)),
            degraded: status.degraded(),
            last_error: status.refusal.as_ref().map(convert::last_error),
            versions: Some(Versions {
                gateway: release::VERSION.to_owned(),
                control: CONTROL_VERSION,
            }),
            started: Some(convert::time(plane.started)),
            uptime: uptime.and_then(convert::duration),
            control: Some(Control {
                connections: self.admission.connections(),
                refused_peers: self.admission.refused(),
            }),
            ending: self.reload.ending().as_ref().map(convert::ending),
        }
    }
}

fn no_such(what: &str) -> Status {
    let what = what.to_owned();
    refused(Refused::Fault(gateway_pingora::Fault::Unknown { what }))
}

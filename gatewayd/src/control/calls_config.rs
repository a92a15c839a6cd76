//! The calls of `gateway.control.v1.GatewayConfig`.

use std::pin::Pin;
use std::sync::Arc;

use gateway_config::effective;
use tokio_stream::Stream;
use tonic::{Request, Response, Status};

use super::calls_runtime::{asked, refused};
use super::watch::Watched;
use super::{convert, refusal};
use crate::changes;
use crate::origin::Outcome;
use crate::proto::config::gateway_config_server::GatewayConfig;
use crate::proto::config::*;
use crate::reload::{Findings, Reload};
use crate::trace::{Running, Traced};

/// What the calls are about.
pub(super) struct Calls {
    pub(super) reload: Arc<Reload>,
    pub(super) watched: Watched,
}

#[tonic::async_trait]
impl GatewayConfig for Calls {
    async fn validate(
        &self,
        request: Request<ValidateRequest>,
    ) -> Result<Response<ValidateResponse>, Status> {
        let documents = documents(request.into_inner().documents)?;
        let shown = self.reload.shown_pairs();
        let check = move || Outcome::of(&documents).for_serving(&shown);
        let checked = tokio::task::spawn_blocking(check);
        let Outcome { sources, result } = checked.await.map_err(bug)?;
        let (hash, found) = match result {
            Ok(loaded) => (Some(loaded.snapshot.hash().to_owned()), loaded.warnings),
            Err(found) => (None, found),
        };
        Ok(Response::new(ValidateResponse {
            is_served: hash.is_some(),
            hash: hash.unwrap_or_default(),
            diagnostics: convert::diagnostics(&Findings { found, sources }),
        }))
    }

    async fn apply(
        &self,
        request: Request<ApplyRequest>,
    ) -> Result<Response<ApplyResponse>, Status> {
        asked(&request, "apply");
        let ApplyRequest {
            documents: texts,
            expected_active_hash: expected,
        } = request.into_inner();
        if expected.is_empty() {
            return Err(refusal::invalid(
                "expected_active_hash is missing: GetActive tells it",
            ));
        }
        let applied = self.reload.apply(documents(texts)?, expected).await;
        let applied = applied.map_err(refused)?;
        Ok(Response::new(ApplyResponse {
            change: Some(convert::change(&applied)),
            warnings: convert::diagnostics(&applied.warnings),
        }))
    }

    async fn get_active(
        &self,
        _: Request<GetActiveRequest>,
    ) -> Result<Response<ActiveConfig>, Status> {
        let active = self.reload.status().active.clone();
        let snapshot = self.reload.snapshot();
        Ok(Response::new(ActiveConfig {
            snapshot: Some(convert::active(&active)),
            toml: effective::to_shown_toml(snapshot.model()),
        }))
    }

    async fn compare(
        &self,
        request: Request<CompareRequest>,
    ) -> Result<Response<CompareResponse>, Status> {
        let documents = documents(request.into_inner().documents)?;
        let active = self.reload.snapshot();
        let compared = tokio::task::spawn_blocking(move || {
            let Outcome { sources, result } = Outcome::of(&documents);
            match result {
                Ok(loaded) => CompareResponse {
                    is_read: true,
                    changes: changes::between(&active, &loaded.snapshot)
                        .into_iter()
                        .map(Into::into)
                        .collect(),
                    diagnostics: Vec::new(),
                },
                Err(found) => CompareResponse {
                    diagnostics: convert::diagnostics(&Findings { found, sources }),
                    ..CompareResponse::default()
                },
            }
        });
        Ok(Response::new(compared.await.map_err(bug)?))
    }

    async fn list_snapshots(
        &self,
        _: Request<ListSnapshotsRequest>,
    ) -> Result<Response<ListSnapshotsResponse>, Status> {
        let active = self.reload.status().active.number;
        let reload = Arc::clone(&self.reload);
        let kept = tokio::task::spawn_blocking(move || reload.kept());
        let kept = kept.await.map_err(bug)?.map_err(refused)?;
        let snapshots = kept.iter().map(|one| convert::kept(one, active)).collect();
        Ok(Response::new(ListSnapshotsResponse { snapshots }))
    }

    async fn rollback(
        &self,
        request: Request<RollbackRequest>,
    ) -> Result<Response<RollbackResponse>, Status> {
        asked(&request, "roll back");
        let change = self.reload.rollback(request.get_ref().number).await;
        let change = Some(convert::change(&change.map_err(refused)?));
        Ok(Response::new(RollbackResponse { change }))
    }

    async fn trace(
        &self,
        request: Request<TraceRequest>,
    ) -> Result<Response<TraceResponse>, Status> {
        let reload = Arc::clone(&self.reload);
        let request = request.into_inner();
        let traced = move || {
            let running = Running {
                pools: reload.pools(),
                listeners: reload.data_plane().listeners,
            };
            let traced = Traced {
                snapshot: &reload.snapshot(),
                running: Some(running),
            };
            traced.answer(&request)
        };
        let told = tokio::task::spawn_blocking(traced).await.map_err(bug)?;
        let told = told.map_err(|odd| refusal::invalid(&odd.to_string()))?;
        Ok(Response::new(told))
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<Event, Status>> + Send>>;

    async fn watch(&self, _: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(Box::pin(self.watched.stream())))
    }
}

fn documents(texts: Vec<Document>) -> Result<Vec<crate::origin::Document>, Status> {
    if texts.is_empty() {
        return Err(refusal::invalid("there is no document"));
    }
    let named = |one: Document| crate::origin::Document {
        name: match one.name.is_empty() {
            true => "gateway.toml".to_owned(),
            false => one.name,
        },
        text: one.toml,
    };
    Ok(texts.into_iter().map(named).collect())
}

fn bug(why: tokio::task::JoinError) -> Status {
    refused(crate::reload::Refused::Bug(why.to_string()))
}

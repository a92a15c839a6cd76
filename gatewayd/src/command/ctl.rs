//! The commands to a running process: each asks over its socket and prints the answer.
//!
//! Decides nothing: the process does. Exit 1 where it refuses a configuration, 2 where nobody
//! answers or the question makes no sense.

use crate::cli::{Count, Drain, Format, Reach, Reload, Rollback, Snapshots, Status, Stop, Workers};
use crate::exit::Exit;
use crate::proto::config::event::What;
use crate::proto::{config, runtime};

use super::print;

mod client;
pub(super) mod json;
mod table;
mod words;

use client::{Client, ask};

/// `gatewayd reload`.
pub(super) fn reload(reload: &Reload) -> Exit {
    let new_generation = reload.new_generation;
    ask(&reload.reach, async |client: Client| {
        let request = runtime::ReloadDataPlaneRequest { new_generation };
        let answer = client
            .runtime()
            .reload_data_plane(request)
            .await?
            .into_inner();
        Ok(changed(answer.change, reload.format))
    })
}

/// `gatewayd rollback`.
pub(super) fn rollback(rollback: &Rollback) -> Exit {
    let number = rollback.number;
    ask(&rollback.reach, async |client: Client| {
        let request = config::RollbackRequest { number };
        let answer = client.config().rollback(request).await?.into_inner();
        Ok(changed(answer.change, rollback.format))
    })
}

/// What a running process serves, spelled out, as `gatewayd effective` prints it.
pub(super) fn effective(reach: &Reach) -> Exit {
    ask(reach, async |client: Client| {
        let request = config::GetActiveRequest {};
        let answer = client.config().get_active(request).await?.into_inner();
        Ok(print(&answer.toml))
    })
}

/// What differs between what a running process serves and a text.
pub(super) fn compare(
    reach: &Reach,
    toml: String,
    show: impl FnOnce(&[config::ChangedSetting]) -> Exit,
) -> Exit {
    ask(reach, async |client: Client| {
        let document = config::Document {
            name: String::new(),
            toml,
        };
        let documents = vec![document];
        let request = config::CompareRequest { documents };
        let answer = client.config().compare(request).await?.into_inner();
        if answer.is_read {
            return Ok(show(&answer.changes));
        }
        for one in &answer.diagnostics {
            eprintln!(
                "gatewayd: the process reads it otherwise: [{}] {}",
                one.code, one.title
            );
        }
        Ok(Exit::Configuration)
    })
}

/// What a running process would do with a request.
pub(super) fn trace(
    reach: &Reach,
    request: config::TraceRequest,
    show: impl FnOnce(&config::TraceResponse) -> Exit,
) -> Exit {
    ask(reach, async |client: Client| {
        Ok(show(&client.config().trace(request).await?.into_inner()))
    })
}

/// `gatewayd drain` and `gatewayd undrain`.
pub(super) fn drain(drain: &Drain, drained: bool) -> Exit {
    let (pool, node) = drain.node.clone();
    ask(&drain.reach, async |client: Client| {
        let said = words::drained(&pool, &node, drained);
        let request = runtime::SetEndpointDrainedRequest {
            pool,
            node,
            drained,
        };
        client.runtime().set_endpoint_drained(request).await?;
        Ok(print(&said))
    })
}

/// `gatewayd workers`.
pub(super) fn workers(workers: &Workers) -> Exit {
    let count = match workers.count {
        Count::Reset => None,
        Count::To(count) => Some(count),
    };
    ask(&workers.reach, async |client: Client| {
        let request = runtime::SetWorkerCountRequest { count };
        let answer = client
            .runtime()
            .set_worker_count(request)
            .await?
            .into_inner();
        Ok(print(&format!(
            "{} workers, generation {}\n",
            answer.workers, answer.generation
        )))
    })
}

/// `gatewayd snapshots`.
pub(super) fn snapshots(snapshots: &Snapshots) -> Exit {
    ask(&snapshots.reach, async |client: Client| {
        let request = config::ListSnapshotsRequest {};
        let answer = client.config().list_snapshots(request).await?.into_inner();
        Ok(print(&match snapshots.format {
            Format::Json => json::document(&answer),
            Format::Text => table::snapshots(&answer.snapshots),
        }))
    })
}

/// `gatewayd stop`.
pub(super) fn stop(stop: &Stop) -> Exit {
    ask(&stop.reach, async |client: Client| {
        let request = runtime::ShutdownGatewayRequest {};
        client.runtime().shutdown_gateway(request).await?;
        Ok(print("it ends: requests in flight end first\n"))
    })
}

/// `gatewayd status`.
pub(super) fn status(status: &Status) -> Exit {
    ask(&status.reach, async |client: Client| {
        // Before the look, so that nothing falls in between.
        let events = match status.watch {
            true => Some(
                client
                    .config()
                    .watch(config::WatchRequest {})
                    .await?
                    .into_inner(),
            ),
            false => None,
        };
        let request = runtime::GetDataPlaneRequest {};
        let plane = client.runtime().get_data_plane(request).await?.into_inner();
        let request = runtime::ListUpstreamHealthRequest::default();
        let health = client
            .runtime()
            .list_upstream_health(request)
            .await?
            .into_inner();
        let printed = print(&match status.format {
            Format::Json => json::status(&plane, &health),
            Format::Text => table::status(&plane, &health.pools),
        });
        let Some(mut events) = events.filter(|_| printed == Exit::Fine) else {
            return Ok(printed);
        };
        // Somebody who looks while it ends has missed the word.
        let mut is_ending = plane.ending.is_some();
        loop {
            let event = match events.message().await {
                Ok(Some(event)) => event,
                // A refusal comes from the process itself.
                Err(status) if std::error::Error::source(&status).is_none() => return Err(status),
                Ok(None) | Err(_) => return Ok(over(is_ending)),
            };
            is_ending |= matches!(event.what, Some(What::Ending(_)));
            let printed = print(&match status.format {
                Format::Json => json::line(&event),
                Format::Text => words::event(&event),
            });
            if printed != Exit::Fine {
                return Ok(printed);
            }
        }
    })
}

/// What there is to say when nothing more comes.
fn over(was_ending: bool) -> Exit {
    match was_ending {
        true => {
            eprintln!("gatewayd: the process has ended");
            Exit::Fine
        }
        false => {
            eprintln!(
                "gatewayd: no answer any more: the process is gone, and had not been told to end"
            );
            Exit::Usage
        }
    }
}

fn changed(change: Option<runtime::Change>, format: Format) -> Exit {
    let change = change.unwrap_or_default();
    for warning in &change.warnings {
        eprintln!("{warning}");
    }
    for why in &change.degraded {
        eprintln!("gatewayd: DEGRADED: {why}");
    }
    print(&match format {
        Format::Json => json::document(&change),
        Format::Text => words::change(&change),
    })
}

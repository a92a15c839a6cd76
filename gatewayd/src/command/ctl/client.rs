//! Speaks to the running process, and turns what it refuses into words and an exit code.

use std::path::Path;
use std::time::Duration;

use prost::Message;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_types::pb;

use crate::cli::Reach;
use crate::exit::Exit;
use crate::proto::config::Diagnostics;
use crate::proto::config::gateway_config_client::GatewayConfigClient;
use crate::proto::runtime::gateway_runtime_client::GatewayRuntimeClient;
use crate::proto::{LARGEST, runtime};

/// How long the process may take to be there.
const CONNECT: Duration = Duration::from_secs(5);

/// How long it may take to say that it is there.
const ANSWER: Duration = Duration::from_secs(5);

/// A connection to the running process.
#[derive(Clone)]
pub(super) struct Client(Channel);

impl Client {
    pub(super) fn runtime(&self) -> GatewayRuntimeClient<Channel> {
        GatewayRuntimeClient::new(self.0.clone()).max_decoding_message_size(LARGEST)
    }

    pub(super) fn config(&self) -> GatewayConfigClient<Channel> {
        GatewayConfigClient::new(self.0.clone()).max_decoding_message_size(LARGEST)
    }
}

/// Connects, asks, and says what was refused.
pub(super) fn ask(
    reach: &Reach,
    question: impl AsyncFnOnce(Client) -> Result<Exit, Status>,
) -> Exit {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let socket = reach.socket();
    let asked = runtime.map_err(|why| why.to_string()).and_then(|runtime| {
        runtime.block_on(async {
            let client = connect(&socket).await?;
            answers(&client).await?;
            match question(client.clone()).await {
                Ok(exit) => Ok(exit),
                Err(status) => Ok(refused(&client, &status).await),
            }
        })
    });
    asked.unwrap_or_else(|why| {
        eprintln!("gatewayd: no answer on {}: {why}", socket.display());
        Exit::Usage
    })
}

async fn connect(socket: &Path) -> Result<Client, String> {
    let address = format!("unix:{}", socket.display());
    let endpoint = Endpoint::try_from(address).map_err(|why| why.to_string())?;
    let connected = endpoint.connect_timeout(CONNECT).connect().await;
    connected.map(Client).map_err(|why| root(&why))
}

/// Whether somebody is there who answers: a process that stands still accepts connections all the same.
async fn answers(client: &Client) -> Result<(), String> {
    let mut runtime = client.runtime();
    let asked = runtime.get_data_plane(runtime::GetDataPlaneRequest {});
    match tokio::time::timeout(ANSWER, asked).await {
        // What it refuses is said when it is asked what was meant.
        Ok(_) => Ok(()),
        Err(_) => Err(format!("nothing came within {} s", ANSWER.as_secs())),
    }
}

/// Says what was refused; findings as `check` draws them, which the process is asked for again.
async fn refused(client: &Client, status: &Status) -> Exit {
    if is_about_findings(status) {
        let request = runtime::GetDataPlaneRequest {};
        let plane = client.runtime().get_data_plane(request).await;
        let plane = plane.map(tonic::Response::into_inner).unwrap_or_default();
        let drawn = plane.last_error.map(|last| last.drawn).unwrap_or_default();
        match drawn.is_empty() {
            true => eprintln!("{}", status.message()),
            false => eprint!("{drawn}"),
        }
        let number = plane.snapshot.map_or(0, |snapshot| snapshot.number);
        eprintln!("snapshot {number} stays");
    } else {
        eprintln!("gatewayd: {}", status.message());
    }
    match status.code() {
        Code::Aborted | Code::FailedPrecondition | Code::ResourceExhausted => Exit::Configuration,
        Code::Internal => Exit::Bug,
        _ => Exit::Usage,
    }
}

fn is_about_findings(status: &Status) -> bool {
    let details = pb::Status::decode(status.details())
        .unwrap_or_default()
        .details;
    let name = <Diagnostics as prost::Name>::full_name();
    details.iter().any(|one| one.type_url.ends_with(&name))
}

/// What is at the bottom of an error: what stands above it says that there is one.
fn root(error: &dyn std::error::Error) -> String {
    let mut bottom = error;
    while let Some(below) = bottom.source() {
        bottom = below;
    }
    bottom.to_string()
}

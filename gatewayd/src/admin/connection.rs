//! Connections of operators: accepted, bounded in number and time, and answered.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::{House, Page};

/// How long a head may take, and how long a connection may rest.
const HEAD: Duration = Duration::from_secs(30);
/// How long a connection lives; who asks again connects again.
const LIFE: Duration = Duration::from_secs(300);
/// The same of somebody who may not ask.
const SHORT_LIFE: Duration = Duration::from_secs(5);
/// How long the last answer may take.
const LAST: Duration = Duration::from_secs(10);
/// Longest head, in bytes.
const HEAD_SIZE: usize = 16 << 10;
/// How long to wait after the system could not accept.
const PAUSE: Duration = Duration::from_millis(100);

const PLAIN: &str = "text/plain; charset=utf-8";
const NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

/// Accepts for as long as its runtime lives.
pub(super) async fn accept(socket: TcpListener, house: Arc<House>) {
    loop {
        let Ok((stream, from)) = socket.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let from = from.ip().to_canonical();
        let (places, life) = match house.lets_in(from) {
            true => (&house.operators, LIFE),
            false => (&house.strangers, SHORT_LIFE),
        };
        let Ok(place) = Arc::clone(places).try_acquire_owned() else {
            house.refuse();
            continue;
        };
        let house = Arc::clone(&house);
        tokio::spawn(async move {
            serve(stream, from, house, life).await;
            drop(place);
        });
    }
}

async fn serve(stream: TcpStream, from: IpAddr, house: Arc<House>, life: Duration) {
    let answers = service_fn(move |request: Request<Incoming>| {
        let answer = answer(&house, &request, from);
        async move { Ok::<_, Infallible>(answer) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD.min(life))
        .max_buf_size(HEAD_SIZE);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), answers));
    let ended = tokio::time::timeout(life, connection.as_mut()).await;
    if ended.is_err() {
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(LAST, connection).await;
    }
}

fn answer(house: &House, request: &Request<Incoming>, from: IpAddr) -> Response<Full<Bytes>> {
    if !house.lets_in(from) {
        house.refuse();
        let mut answer = says(StatusCode::FORBIDDEN, "not for this address\n");
        answer
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        return answer;
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut answer = says(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        answer
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    match house.page(request.uri().path()) {
        Some(page) => shown(page),
        None => says(
            StatusCode::NOT_FOUND,
            "there are /, /livez, /readyz and /metrics\n",
        ),
    }
}

fn says(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    shown(Page {
        status: status.as_u16(),
        kind: PLAIN,
        text: text.to_owned(),
    })
}

fn shown(page: Page) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::from(page.text));
    *answer.status_mut() =
        StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let fields = answer.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(page.kind));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(NOSNIFF, HeaderValue::from_static("nosniff"));
    answer
}

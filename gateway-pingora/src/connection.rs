//! A connection's life: wait for a head, judge it, hand it to Pingora, take the connection back, and
//! again. Nothing of a request exists while a connection is idle.
//!
//! HTTP/2 connections are handed over whole; their heads are judged in
//! [`screen`](crate::step::screen).
//!
//! Source: RFC 9112 §9; adr/0014 (why Pingora is entered late), adr/0015.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::HeaderValue;
use http::header::{CONNECTION, CONTENT_LENGTH, DATE};
use pingora_core::apps::HttpServerApp;
use pingora_core::protocols::http::ServerSession;
use pingora_http::ResponseHeader;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use crate::access::AccessLine;
use crate::client::Client;
use crate::clock;
use crate::counts::Ended;
use crate::drain::{Drain, LAST_LISTEN};
use crate::fields::answer_head;
use crate::http2;
use crate::ids::REQUEST_ID;
use crate::made::Made;
use crate::serving::Sites;
use crate::stream::{Conn, HeadRefusal};
use crate::worker::Worker;

/// Serves one connection to its end.
pub(crate) async fn serve(mut conn: Box<Conn>, client: Arc<Client>, worker: Arc<Worker>) {
    let drain = client.drain.watch();
    let mut told = client.drain.watch();
    let listener = Arc::clone(&client.listening.settings());
    if conn.is_http2() {
        return http2::serve(conn, &worker.proxy, listener, &drain).await;
    }
    let mut may_begin_http2 = listener.h2c;
    let mut patience = listener.head.timeout;
    while wait(&mut conn, patience, &client.drain, &mut told).await {
        let listener = Arc::clone(&client.listening.settings());
        let deadline = clock::now() + listener.head.timeout;
        if std::mem::take(&mut may_begin_http2) {
            match conn.begins_http2(deadline).await {
                Ok(true) => return http2::serve(conn, &worker.proxy, listener, &drain).await,
                Ok(false) => {}
                Err(refusal) => return refuse(conn, &client, &worker, refusal).await,
            }
        }
        if let Err(refusal) = conn.read_head(&listener.head, deadline).await {
            return refuse(conn, &client, &worker, refusal).await;
        }
        let mut session = ServerSession::new_http1(conn);
        session.set_keepalive(Some(listener.idle.as_secs().max(1)));
        let Some(reused) = worker.proxy.process_new_http(session, &drain).await else {
            return;
        };
        let Ok(same) = reused.consume().0.into_any().downcast::<Conn>() else {
            return;
        };
        conn = same;
        if !conn.end_message() {
            return;
        }
        patience = listener.idle;
    }
    // RFC 9112 §9.8: an end that TLS knows of.
    let _ = tokio::time::timeout(LAST_LISTEN, AsyncWriteExt::shutdown(&mut *conn)).await;
}

/// Whether a next head begins within `patience`, or as long as a connection that is to end, which it is
/// `told`, is still listened to.
async fn wait(
    conn: &mut Conn,
    patience: Duration,
    drain: &Drain,
    told: &mut watch::Receiver<bool>,
) -> bool {
    let begun = clock::now();
    loop {
        told.borrow_and_update();
        let until = drain.listens_until(begun, begun + patience);
        tokio::select! {
            biased;
            begins = poll_fn(|cx| conn.poll_begins(cx, until)) => return begins,
            _ = told.changed() => {}
        }
    }
}

/// Answers a head that is no request, logs and counts it, and closes.
async fn refuse(mut conn: Box<Conn>, client: &Client, worker: &Worker, refusal: HeadRefusal) {
    let Some(failure) = refusal.failure() else {
        return;
    };
    let serving = worker.shared.serving.load_full();
    let sites = serving.sites(&client.listening.name);
    let site = sites.and_then(Sites::others);
    let id = worker.shared.ids.make();
    let told = site.unwrap_or(&serving.nobody);
    let answer = failure.answer_at(&told.site);

    let mut made = Made::failure(&failure, told, false);
    let body = std::mem::take(&mut made.body);
    let fields = &mut made.fields;
    fields.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    fields.insert(REQUEST_ID, id.clone());
    if let Ok(date) = HeaderValue::try_from(httpdate::fmt_http_date(clock::wall())) {
        fields.insert(DATE, date);
    }
    fields.insert(CONNECTION, HeaderValue::from_static("close"));
    let head = answer_head(made.status, made.fields);
    let mut bytes = to_wire(&head);
    bytes.extend_from_slice(&body);
    let sent = async {
        conn.write_all(&bytes).await?;
        conn.flush().await
    };
    let _ = sent.await;

    if let Some(metrics) = site.and_then(|site| site.metrics.as_ref()) {
        metrics.requests.inc();
        metrics.answered(answer.status, Duration::ZERO);
    }
    told.counts.end(&Ended {
        listener: &client.listening.name,
        route: None,
        status: Some(answer.status),
        took: None,
        bytes: (0, body.len() as u64),
    });
    client.listening.counts.failures.count(&failure);
    worker.shared.access_log.write(&AccessLine {
        site: site.map(|site| &*site.site.name),
        status: Some(answer.status),
        bytes_out: body.len() as u64,
        code: Some(answer.code),
        reason: Some(failure.reason()),
        generation: worker.shared.generation.load(Ordering::Relaxed),
        snapshot: site.map(|site| &*site.hash),
        ..AccessLine::unread(
            id.to_str().unwrap_or_default(),
            client.peer.ip().to_canonical(),
            &client.listening.name,
        )
    });
}

/// A head as it is sent (RFC 9112 §4).
fn to_wire(head: &ResponseHeader) -> Vec<u8> {
    let reason = head.get_reason_phrase().unwrap_or_default();
    let mut bytes = format!("HTTP/1.1 {} {reason}\r\n", head.status.as_u16()).into_bytes();
    for (name, value) in &head.headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

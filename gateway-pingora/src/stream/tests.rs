//! What a connection lets through, over real sockets and however the bytes are cut.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gateway_config::model::{HeadLimits, Listener};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use super::{Conn, HeadRefusal};
use crate::client::{Client, Held};
use crate::clock;
use crate::descriptors::Descriptors;
use crate::drain::Drain;
use crate::gate::head::HeadFault;
use crate::listening::Listening;

const SECOND: Duration = Duration::from_secs(1);

fn soon() -> Instant {
    clock::now() + 5 * SECOND
}

fn listener() -> Listener {
    let head = HeadLimits {
        line: 8192,
        fields: 16384,
        count: 64,
        timeout: 5 * SECOND,
    };
    Listener {
        head,
        idle: SECOND,
        body_gap: SECOND,
        handshake: SECOND,
        write_gap: SECOND,
        min_rate: 256,
        ..Listener::new("a".into(), "127.0.0.1:0".parse().unwrap())
    }
}

/// A connection of ours and the client at its other end.
async fn pair() -> (Conn, TcpStream) {
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = socket.local_addr().unwrap();
    let (client, accepted) = tokio::join!(TcpStream::connect(addr), socket.accept());
    let (stream, peer) = accepted.unwrap();
    let listening = Arc::new(Listening::new(listener(), None));
    let held = Held {
        _counted: listening.connect(1).unwrap(),
        _descriptor: Descriptors::new().hold(&stream),
        _alive: mpsc::channel(1).0,
        member: None,
    };
    let client = client.unwrap();
    client.set_nodelay(true).unwrap();
    (
        Conn::plain(
            stream,
            Arc::new(Client::new(listening, Arc::new(Drain::new()), peer, held)),
        ),
        client,
    )
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test)
}

/// Reads one message as Pingora would, with this much room at a time.
async fn message(conn: &mut Conn, length: usize, room: usize) -> Vec<u8> {
    let mut read = Vec::new();
    let mut buffer = vec![0; room];
    while read.len() < length {
        match conn.read(&mut buffer).await.unwrap() {
            0 => break,
            count => read.extend_from_slice(&buffer[..count]),
        }
    }
    read
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn exactly_one_message_passes_at_a_time(
        bodies in proptest::collection::vec((any::<bool>(), 0_usize..300), 1..4),
        cuts in proptest::collection::vec(1_usize..60, 1..30),
        room in 1_usize..200,
    ) {
        let messages: Vec<Vec<u8>> = bodies.iter().map(|&(chunked, size)| {
            let body = "x".repeat(size);
            match chunked {
                true if size > 0 => format!(
                    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{size:x}\r\n{body}\r\n0\r\n\r\n"
                ),
                _ => format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n{body}"),
            }
            .into_bytes()
        }).collect();
        let all = messages.concat();
        run(async {
            let (mut conn, mut client) = pair().await;
            let send = async {
                let mut rest = &all[..];
                for cut in cuts.iter().cycle() {
                    let (piece, more) = rest.split_at((*cut).min(rest.len()));
                    client.write_all(piece).await.unwrap();
                    tokio::task::yield_now().await;
                    rest = more;
                    if rest.is_empty() { break }
                }
                client
            };
            let receive = async {
                let mut read = Vec::new();
                for sent in &messages {
                    conn.read_head(&listener().head, soon()).await.unwrap();
                    read.push(message(&mut conn, sent.len(), room).await);
                    assert!(conn.end_message());
                }
                read
            };
            let (_client, read) = tokio::join!(send, receive);
            assert_eq!(read, messages);
        });
    }
}

#[test]
fn the_end_of_the_client_is_seen_while_it_waits_for_its_answer() {
    run(async {
        let (mut conn, mut client) = pair().await;
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        client.write_all(head).await.unwrap();
        conn.read_head(&listener().head, soon()).await.unwrap();
        assert_eq!(message(&mut conn, head.len(), 99).await, head);
        client.shutdown().await.unwrap();
        assert_eq!(conn.read(&mut [0; 9]).await.unwrap(), 0);
    });
}

#[test]
fn the_end_of_a_client_is_seen_however_much_it_sent_ahead() {
    for ahead in [1, 15, 60_000] {
        run(async {
            let (mut conn, mut client) = pair().await;
            let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
            client.write_all(head).await.unwrap();
            client.write_all(&vec![b'x'; ahead]).await.unwrap();
            conn.read_head(&listener().head, soon()).await.unwrap();
            assert_eq!(message(&mut conn, head.len(), 99).await, head);
            let mut byte = [0; 1];
            let waits = tokio::time::timeout(SECOND / 10, conn.read(&mut byte)).await;
            assert!(waits.is_err());
            drop(client);
            let end = tokio::time::timeout(5 * SECOND, conn.read(&mut byte)).await;
            assert!(matches!(end, Ok(Ok(0) | Err(_))), "{ahead}: {end:?}");
        });
    }
}

#[test]
fn the_deadline_of_the_steps_ends_the_wait() {
    run(async {
        let (mut conn, mut client) = pair().await;
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        client.write_all(head).await.unwrap();
        conn.read_head(&listener().head, soon()).await.unwrap();
        message(&mut conn, head.len(), 99).await;
        conn.client.watch.until(clock::now() + 900 * SECOND);
        conn.client.watch.until(clock::now() + SECOND / 20);
        let error = conn.read(&mut [0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert!(conn.client.watch.is_past(clock::now()));
    });
}

#[test]
fn a_broken_chunk_ends_the_message_and_is_remembered() {
    run(async {
        let (mut conn, mut client) = pair().await;
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        client
            .write_all(format!("{head}1\r\nab").as_bytes())
            .await
            .unwrap();
        conn.read_head(&listener().head, soon()).await.unwrap();
        message(&mut conn, head.len(), head.len()).await;
        let error = conn.read(&mut [0; 99]).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
        assert!(conn.client.is_body_broken());
        assert!(!conn.end_message());
    });
}

#[test]
fn a_head_that_does_not_come_is_told_from_one_that_is_wrong() {
    run(async {
        let (mut conn, mut client) = pair().await;
        client.write_all(b"GET / HTTP/1.1\r\nHo").await.unwrap();
        let quick = HeadLimits {
            timeout: SECOND / 20,
            ..listener().head
        };
        assert!(matches!(
            conn.read_head(&quick, clock::now() + quick.timeout).await,
            Err(HeadRefusal::Slow)
        ));
        let (mut conn, mut client) = pair().await;
        client.write_all(b"GET / HTTP/1.1\nHo").await.unwrap();
        let wrong = conn.read_head(&listener().head, soon()).await;
        assert!(matches!(wrong, Err(HeadRefusal::Head(HeadFault::Line))));
        let (mut conn, client) = pair().await;
        drop(client);
        assert!(matches!(
            conn.read_head(&quick, clock::now() + quick.timeout).await,
            Err(HeadRefusal::Closed)
        ));
    });
}

#[test]
fn small_writes_are_gathered_and_a_wait_sends_them() {
    run(async {
        let (mut conn, mut client) = pair().await;
        let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        client.write_all(head).await.unwrap();
        conn.read_head(&listener().head, soon()).await.unwrap();
        message(&mut conn, head.len(), 99).await;
        conn.write_all(b"abc").await.unwrap();
        assert_eq!(conn.output, b"abc");
        let mut byte = [0; 1];
        let _ = tokio::time::timeout(SECOND / 20, conn.read(&mut byte)).await;
        let mut got = [0; 3];
        client.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"abc");
    });
}

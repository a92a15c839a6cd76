//! gRPC through the gateway, between a client and a server that are not ours.

use gateway_tests::certs::Authority;
use gateway_tests::foreign::{Server, asks_through};
use gateway_tests::gateway::Door;
use gateway_tests::scratch::Scratch;
use serde_json::json;

#[test]
#[ignore = "needs a Python with grpcio: cargo xtask test"]
fn calls_pass_with_their_trailers_streams_deadlines_and_cancellations() {
    let server = Server::start();
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let text = format!(
        "workers = 1\n\
         [listeners.door]\nbind = \"127.0.0.1:0\"\ntls = \"door\"\n\
         [tls.door]\nchain = \"t.pem\"\nkey = \"t.key\"\n\
         [sites.all]\nlistener = \"door\"\npool = \"calls\"\n\
         [pools.calls]\nhttp2 = true\nnodes = [\"{}\"]\n",
        server.addr()
    );
    let door = Door::configured_over_tls(&text, &authority, &identity);

    let said = asks_through(door.addr(), &Scratch::new(), authority.pem(), "door.test");

    assert_eq!(
        said,
        json!({
            "echo": "hello",
            "before": "kept",
            "after": ["yes", [0, 255]],
            "large": true,
            "fails": {
                "code": "PERMISSION_DENIED",
                "details": "nicht für 100 % aller",
                "why": "asked to",
            },
            "ticks": ["first", "second"],
            "talks": true,
            "left": true,
            "late": "DEADLINE_EXCEEDED",
            "cancelled": "True",
        })
    );
}

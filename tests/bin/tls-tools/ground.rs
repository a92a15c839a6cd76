//! The gateway that is asked: four names, three listeners, certificates of an authority of its own.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use gateway_tests::certs::{Authority, Identity};
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::scratch::set_mode;

const TEXT: &str = r#"workers = 1
[listeners.edge]
bind = "127.0.0.1:0"
tls = "wide"
[listeners.named]
bind = "127.0.0.1:0"
tls = "wide"
strict_sni = true
[listeners.clear]
bind = "127.0.0.1:0"
h2c = true
[tls.wide]
chain = "wide.pem"
key = "wide.key"
also = [{ chain = "rsa.pem", key = "rsa.key" }]
[tls.other]
chain = "other.pem"
key = "other.key"
min = "1.3"
[tls.new]
chain = "new.pem"
key = "new.key"
min = "1.3"
suites = ["TLS_AES_128_GCM_SHA256"]
alpn = ["h2"]
resumption = false
[tls.old]
chain = "old.pem"
key = "old.key"
max = "1.2"
alpn = ["http/1.1"]
[sites.plain]
listener = "clear"
routes.all = { path = "/", answer = { status = 200, body = "plain" } }
"#;

/// The gateway under way.
pub(crate) struct Ground {
    door: Door,
}

impl Ground {
    /// Starts it.
    pub(crate) fn opens() -> Self {
        let authority = Authority::new();
        let sites = ["wide", "other", "new", "old"].map(|name| {
            format!(
                "[sites.{name}]\nlistener = [\"edge\", \"named\"]\nhosts = [\"{name}.test\"]\ntls = \"{name}\"\n\
                 routes.all = {{ path = \"/\", answer = {{ status = 200, body = \"{name}\" }} }}\n"
            )
        });
        let plan = Plan::configured(&(TEXT.to_owned() + &sites.concat()));
        let write = |name: &str, identity: &Identity| {
            let files = [("pem", &identity.cert_pem), ("key", &identity.key_pem)];
            for (kind, pem) in files {
                let path = plan.path(&format!("{name}.{kind}"));
                fs::write(&path, pem).expect("a file of our own");
                set_mode(&path, 0o600);
            }
        };
        // So that a request for `new.test` is covered where its rules are not kept.
        write("wide", &authority.signs(&["wide.test", "new.test"]));
        write("rsa", &authority.signs_rsa(&["wide.test"]));
        for name in ["other", "new", "old"] {
            write(name, &authority.signs(&[&format!("{name}.test")]));
        }
        fs::write(plan.path("ca.pem"), authority.pem()).expect("a file of our own");
        Ground { door: plan.opens() }
    }

    /// Where a listener listens.
    pub(crate) fn addr(&self, listener: &str) -> SocketAddr {
        self.door.seen_as(listener).addr()
    }

    /// A place in its directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.door.scratch().path().join(name)
    }
}

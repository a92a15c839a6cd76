//! `flags/` and `cluster-file/`: what a front door starts with, and what it will not start with.

use std::collections::BTreeMap;

use gateway_tests::certs::Authority;
use gateway_tests::gateway::Plan;
use gateway_tests::node::Cluster;
use gateway_tests::scratch::{Scratch, set_mode};
use gateway_tests::vector::{self, Vector, filled, same};
use gateway_tests::wait;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    listen: Option<String>,
    args: Vec<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    exit: Option<i32>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    log: Vec<String>,
    #[serde(default)]
    nodes: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    text: String,
    exit: Option<i32>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    silent: bool,
}

/// Two nodes, and files that a vector may name.
struct Ground {
    _cluster: Cluster,
    scratch: Scratch,
    values: Vec<(&'static str, String)>,
}

impl Ground {
    fn new() -> Self {
        let cluster = Cluster::of(&["a", "b"]);
        let scratch = Scratch::new();
        let authority = Authority::new();
        let identity = authority.signs(&["door.test"]);
        let _ = scratch.file("ca.pem", authority.pem());
        let _ = scratch.file("good.pem", &identity.cert_pem);
        let _ = scratch.file("good.key", &identity.key_pem);
        set_mode(&scratch.file("open.key", &identity.key_pem), 0o644);
        let values = vec![
            ("a_port", cluster["a"].addr().port().to_string()),
            ("a", cluster["a"].addr().to_string()),
            ("b", cluster["b"].addr().to_string()),
            ("dir", scratch.path().to_string_lossy().into_owned()),
        ];
        Self {
            _cluster: cluster,
            scratch,
            values,
        }
    }

    fn fill(&self, text: &str) -> String {
        filled(text, &self.values)
    }
}

#[test]
fn a_front_door_starts_or_says_why_not() {
    let ground = Ground::new();
    vector::each("flags", |vector: &Vector<Start>| {
        let start = &vector.content;
        for (name, text) in &start.files {
            let _ = ground.scratch.file(name, ground.fill(text));
        }
        let listen = ground.fill(start.listen.as_deref().unwrap_or("127.0.0.1:0"));
        let args: Vec<String> = start.args.iter().map(|arg| ground.fill(arg)).collect();
        let plan = Plan::with_arguments(&listen, &args);
        let says: Vec<String> = start.says.iter().map(|words| ground.fill(words)).collect();
        match start.exit {
            Some(exit) => refused(plan, exit, &says),
            None => start.starts(plan, &ground),
        }
    });
}

#[test]
fn a_cluster_file_is_read_with_the_clusters_own_eyes_and_seldom_refused() {
    let ground = Ground::new();
    vector::each("cluster-file", |vector: &Vector<List>| {
        let list = &vector.content;
        let file = ground.scratch.file("cluster.toml", ground.fill(&list.text));
        let args = ["--cluster".to_owned(), file.to_string_lossy().into_owned()];
        let plan = Plan::with_arguments("127.0.0.1:0", &args);
        if let Some(exit) = list.exit {
            return refused(plan, exit, &list.says);
        }
        let says: Vec<String> = list.says.iter().map(|words| ground.fill(words)).collect();
        let door = plan.opens();
        let said = || door.log().all().join("\n").to_lowercase();
        wait::maybe(wait::SOON, || {
            missing(&said(), &says).is_none().then_some(())
        });
        if let Some(words) = missing(&said(), &says) {
            return Err(format!("no warning with {words:?} in:\n{}", said()));
        }
        let is_silent = !said().contains("warn");
        same("silent", is_silent || !list.silent, true)
    });
}

fn refused(plan: Plan, exit: i32, says: &[String]) -> Result<(), String> {
    let ended = plan.is_refused();
    if ended.status.code() != Some(exit) {
        return Err(format!(
            "{}, should be {exit}: {}",
            ended.status, ended.stderr
        ));
    }
    match missing(&ended.stderr.to_lowercase(), says) {
        Some(words) => Err(format!("does not name {words:?}:\n{}", ended.stderr)),
        None => Ok(()),
    }
}

fn missing<'words>(text: &str, says: &'words [String]) -> Option<&'words String> {
    says.iter()
        .find(|words| !text.contains(&words.to_lowercase()))
}

impl Start {
    fn starts(&self, plan: Plan, ground: &Ground) -> Result<(), String> {
        let door = plan.opens();
        let log = || door.log().all().join("\n");
        wait::maybe(wait::SOON, || {
            missing(&log().to_lowercase(), &self.log)
                .is_none()
                .then_some(())
        });
        if let Some(words) = missing(&log().to_lowercase(), &self.log) {
            return Err(format!("does not say {words:?} at start:\n{}", log()));
        }
        for (name, addr) in &self.nodes {
            same(
                name,
                door.node(name)["addr"].as_str(),
                Some(ground.fill(addr).as_str()),
            )?;
        }
        Ok(())
    }
}

//! Secrets in a configuration are in no output of any command.

use std::path::Path;

use gateway_tests::gateway::runs;
use gateway_tests::scratch::Scratch;

const FILE: &str = "\
[listeners.web]
bind = \"127.0.0.1:8080\"

[sites.shop]
listener = \"web\"
pool = \"shop\"
request_edits = { set = { authorization = \"Bearer s3cr3t\" } }

[sites.shop.routes]
in = { path = \"/in/*\", when = { headers = { x-token = \"s3cr3t\" }, cookies = { session = \"s3cr3t\" } } }

[pools.shop]
nodes = [\"127.0.0.1:9000\"]
probe = { kind = \"http\", path = \"/healthz?k=s3cr3t\" }
";

#[test]
fn no_command_shows_a_secret_and_each_shows_its_name() {
    let scratch = Scratch::new();
    let changed = FILE.replace("s3cr3t", "s3cr3t-too");
    let misspelled = FILE.replace("set =", "sett =");
    let broken = FILE.replace("s3cr3t\" } }", "s3cr3t } }");
    for (name, text) in [
        ("old.toml", FILE),
        ("new.toml", &changed),
        ("misspelled.toml", &misspelled),
        ("broken.toml", &broken),
    ] {
        let _ = scratch.file(name, text);
    }
    for (line, shown) in [
        ("effective old.toml", "authorization = \"…\""),
        ("effective --origin old.toml", "x-token = \"…\""),
        ("effective --origin old.toml", "old.toml:7\n"),
        (
            "diff old.toml new.toml",
            "request_edits.set: { authorization",
        ),
        ("diff old.toml new.toml", "session = \"…\""),
        ("effective old.toml", "path = \"/healthz?k=…\""),
        ("diff old.toml new.toml", "/healthz?k=…"),
        ("diff --format json old.toml new.toml", "authorization"),
        ("check old.toml", "headers = { x-token = \"******\" }"),
        ("check --format json old.toml", "G0318"),
        (
            "check misspelled.toml",
            "sett = { authorization = \"*************\" }",
        ),
        ("check broken.toml", "request_edits =*****"),
        ("run --config broken.toml", "request_edits =*****"),
    ] {
        let words: Vec<String> = line
            .split(' ')
            .map(|word| match word.ends_with(".toml") {
                true => scratch.path().join(word).to_string_lossy().into_owned(),
                false => word.to_owned(),
            })
            .collect();
        let words: Vec<&Path> = words.iter().map(Path::new).collect();
        let ended = runs(&words);
        let said = ended.stdout + &ended.stderr;
        assert!(!said.contains("s3cr3t"), "{line}: {said}");
        assert!(said.contains(shown), "{line}: {said}");
    }
}

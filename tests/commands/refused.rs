//! A configuration that is refused is told to programs in one form, whatever command read it.

use gateway_tests::gateway::runs_in;
use gateway_tests::scratch::Scratch;
use serde_json::Value;

const SOUND: &str = "\
[listeners.web]
bind = \"127.0.0.1:8080\"

[sites.shop]
listener = \"web\"
pool = \"shop\"

[pools.shop]
nodes = [\"127.0.0.1:9000\"]
";

#[test]
fn diff_and_trace_tell_programs_what_check_tells_them() {
    let scratch = Scratch::new();
    let _ = scratch.file("sound.toml", SOUND);
    let _ = scratch.file("wrong.toml", SOUND.replace("listener =", "listner ="));
    let _ = scratch.file("other.toml", SOUND.replace("nodes", "nods"));
    let said = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let ended = runs_in(scratch.path(), &words);
        assert_eq!(ended.status.code(), Some(1), "{line}: {}", ended.stderr);
        assert_eq!(ended.stderr, "", "{line}");
        serde_json::from_str::<Value>(&ended.stdout).unwrap()
    };
    let checked = said("check --format json wrong.toml");
    for line in [
        "diff --format json wrong.toml sound.toml",
        "diff --format json sound.toml wrong.toml",
        "trace --format json GET http://shop.example/ --config wrong.toml",
    ] {
        assert_eq!(said(line), checked, "{line}");
    }
    let both = said("diff --format json wrong.toml other.toml");
    let other = said("check --format json other.toml");
    let count = |document: &Value| document["errors"].as_u64().unwrap();
    assert_eq!(count(&both), count(&checked) + count(&other));
    assert_eq!(
        both["diagnostics"].as_array().unwrap().len(),
        usize::try_from(count(&both)).unwrap()
    );
}

//! A configuration that makes sense and that this data plane does not execute: who refuses it.

use gateway_tests::gateway::{Ended, runs};
use gateway_tests::scratch::Scratch;

const SOUND: &str = "[listeners.web]\nbind = \"127.0.0.1:8080\"\ntls = \"web\"\nalpn = [\"h2\"]\n\
                     [tls.web]\nchain = \"web.pem\"\nkey = \"web.key\"\n\
                     [sites.shop]\nlistener = \"web\"\npool = \"shop\"\n\
                     [pools.shop]\nnodes = [\"10.0.0.11:8080\"]\n";

/// The ends of `check`, `effective` and `diff` for the same file.
fn ends(text: &str) -> [Ended; 3] {
    let scratch = Scratch::new();
    let file = scratch.file("gateway.toml", text);
    let file = file.to_str().unwrap();
    [
        runs(&["check", file]),
        runs(&["effective", file]),
        runs(&["diff", file, file]),
    ]
}

#[test]
fn check_refuses_it_and_the_commands_that_show_it_do_not() {
    let [check, effective, diff] = ends(SOUND);
    assert_eq!(check.status.code(), Some(1));
    assert!(check.stderr.contains("error[G0317]"), "{}", check.stderr);
    assert_eq!(effective.status.code(), Some(0));
    assert!(effective.stdout.contains("alpn = [\"h2\"]"));
    assert_eq!(effective.stderr, "");
    assert_eq!(diff.status.code(), Some(0));
    assert_eq!(diff.stderr, "");
}

#[test]
fn what_makes_no_sense_is_refused_by_all_of_them() {
    for end in ends(&SOUND.replace("10.0.0.11:8080", "10.0.0.11")) {
        assert_eq!(end.status.code(), Some(1));
        assert!(end.stderr.contains("error[G0202]"), "{}", end.stderr);
    }
}

#[test]
fn the_help_of_those_that_show_it_says_so() {
    for command in ["diff", "effective"] {
        let said = runs(&[command, "--help"]).stdout;
        assert!(
            said.contains("check, run and reload refuse it (G0317)"),
            "{said}"
        );
    }
}

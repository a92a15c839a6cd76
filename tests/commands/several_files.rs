//! Several files and folders that are one configuration, for every command that takes one.

use std::fs;
use std::path::Path;

use gateway_tests::gateway::{Ended, runs};
use gateway_tests::scratch::Scratch;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// A configuration in three files, of which two lie in a folder among what editors leave behind.
struct Ground {
    scratch: Scratch,
}

impl Ground {
    fn new() -> Self {
        let ground = Self {
            scratch: Scratch::new(),
        };
        fs::create_dir(ground.scratch.path().join("conf.d")).unwrap();
        ground.write("gateway.toml", "[drain]\ndeadline = \"1s\"\n");
        ground.write(
            "conf.d/a.toml",
            "[front_door.a]\nlisten = \"127.0.0.1:0\"\nupstreams = { a = \"127.0.0.1:9\" }\n",
        );
        ground.write("conf.d/b.toml", "[limits]\nconnections = 1_000\n");
        for name in [".c.toml", "a.toml~", "#a.toml#", "a.toml.orig"] {
            ground.write(&format!("conf.d/{name}"), "= broken\n");
        }
        ground
    }

    fn write(&self, name: &str, text: &str) {
        let _ = self.scratch.file(name, text);
    }

    fn path(&self, name: &str) -> String {
        self.scratch
            .path()
            .join(name)
            .to_string_lossy()
            .into_owned()
    }

    /// Runs a command; words with a dot in them are names here.
    fn runs(&self, line: &str) -> Ended {
        let words: Vec<String> = line
            .split(' ')
            .map(|word| match word.contains('.') {
                true => self.path(word),
                false => word.to_owned(),
            })
            .collect();
        let words: Vec<&Path> = words.iter().map(Path::new).collect();
        runs(&words)
    }
}

#[test]
fn files_and_folders_are_one_configuration_in_whatever_order() {
    let ground = Ground::new();
    let first = ground.runs("effective gateway.toml conf.d");
    assert!(first.status.success(), "{}", first.stderr);
    for line in [
        "deadline = \"1s\"",
        "connections = 1000",
        "[listeners.a]",
        "bind = \"127.0.0.1:0\"",
    ] {
        assert!(first.stdout.contains(line), "{line}: {}", first.stdout);
    }
    for line in [
        "effective --config conf.d gateway.toml",
        "effective --config conf.d --config gateway.toml",
        "effective conf.d/b.toml gateway.toml conf.d",
    ] {
        assert_eq!(ground.runs(line).stdout, first.stdout, "{line}");
    }
    let origin = ground.runs("effective --origin gateway.toml conf.d").stdout;
    for (setting, place) in [
        ("deadline = \"1s\"", "gateway.toml:2"),
        ("connections = 1000", "conf.d/b.toml:2"),
        (
            "bind = \"127.0.0.1:0\"",
            "conf.d/a.toml:1, by the front door",
        ),
    ] {
        let line = format!("{setting}  # {}", ground.path(place));
        assert!(origin.contains(&line), "{line}: {origin}");
    }
}

#[test]
fn a_finding_names_the_file_it_is_in() {
    let ground = Ground::new();
    ground.write("conf.d/b.toml", "\n[limits]\nconections = 1\n");
    ground.write("gateway.toml", "[drain]\ndeadline = \"1 week\"\n");
    for command in ["check", "effective", "run --config"] {
        let ended = ground.runs(&format!("{command} gateway.toml conf.d"));
        assert_eq!(ended.status.code(), Some(1), "{command}");
        for place in ["gateway.toml:2:12", "conf.d/b.toml:3:1"] {
            let place = ground.path(place);
            assert!(ended.stderr.contains(&place), "{command}: {}", ended.stderr);
        }
    }
}

#[test]
fn a_name_that_two_files_define_is_shown_in_both() {
    let ground = Ground::new();
    ground.write("gateway.toml", "\n[limits]\nconnections = 2\n");
    let ended = ground.runs("check gateway.toml conf.d");
    assert_eq!(ended.status.code(), Some(1));
    for words in [
        "error[G0102]",
        &ground.path("gateway.toml:3:1"),
        &ground.path("conf.d/b.toml:2:1"),
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
}

#[test]
fn a_file_that_is_not_there_is_named_and_nothing_is_served() {
    let ground = Ground::new();
    fs::create_dir(ground.path("empty.d")).unwrap();
    for command in ["check", "run --config"] {
        let ended = ground.runs(&format!("{command} gateway.toml absent.toml empty.d"));
        assert_eq!(ended.status.code(), Some(1), "{command}");
        for words in [ground.path("absent.toml"), ground.path("empty.d")] {
            assert!(ended.stderr.contains(&words), "{command}: {}", ended.stderr);
        }
    }
}

#[test]
fn several_files_are_compared_with_several() {
    let ground = Ground::new();
    ground.write("next.toml", "[drain]\ndeadline = \"2s\"\n");
    let expected = "at once:\n  ~ drain.deadline: \"1s\" → \"2s\"\n";
    for line in [
        "diff --old gateway.toml conf.d --new next.toml conf.d",
        "diff --new conf.d next.toml --old conf.d gateway.toml",
    ] {
        let ended = ground.runs(line);
        assert_eq!(ended.stdout.trim_end(), expected.trim_end(), "{line}");
    }
    let same = ground.runs("diff conf.d --new conf.d/a.toml conf.d/b.toml");
    assert_eq!(same.stdout, "");
    assert!(same.status.success(), "{}", same.stderr);
}

#[test]
fn what_never_ends_or_never_begins_is_refused_and_not_waited_for() {
    let ground = Ground::new();
    for name in ["conf.d/pipe.toml", "list.toml", "shop.pem", "shop.key"] {
        mkfifo(Path::new(&ground.path(name)), Mode::S_IRWXU).unwrap();
    }
    ground.write(
        "cluster.toml",
        "[front_door.a]\nlisten = \"127.0.0.1:0\"\ncluster = \"list.toml\"\n",
    );
    ground.write(
        "tls.toml",
        "[listeners.a]\nbind = \"127.0.0.1:0\"\ntls = \"a\"\n\
         [tls.a]\nchain = \"shop.pem\"\nkey = \"shop.key\"\n\
         [sites.a]\nlistener = \"a\"\npool = \"a\"\n\
         [pools.a]\nnodes = [\"127.0.0.1:9\"]\nprobe = {}\n",
    );
    for line in [
        "check conf.d",
        "check cluster.toml",
        "check --files tls.toml",
        "run --config tls.toml",
        "check /dev/zero",
        "check /dev/random",
    ] {
        let ended = ground.runs(line);
        assert_eq!(ended.status.code(), Some(1), "{line}");
        let said = ended.stderr;
        assert!(said.contains("not a file"), "{line}: {said}");
    }
}

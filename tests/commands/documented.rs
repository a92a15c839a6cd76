//! What pages, units and manifests tell people to type: each command line in them is one that there is,
//! each configuration one that is served.

use std::fs;
use std::path::{Path, PathBuf};

use gateway_tests::gateway::runs;
use gateway_tests::scratch::Scratch;

const PAGES: [&str; 4] = [
    "README.md",
    "deploy/README.md",
    "docs/migration.md",
    "docs/operations.md",
];
/// What starts the gateway by itself, and by which mark its command line is found there.
const STARTERS: [(&str, &str); 4] = [
    ("deploy/compose/docker-compose.yml", "command: [run,"),
    ("deploy/container/Containerfile", "CMD [\"run\","),
    ("deploy/kubernetes/gatewayd.yaml", "args: [run,"),
    ("deploy/systemd/gatewayd.service", "ExecStart="),
];
/// Makes a whole of a sample that shows one table.
const DOOR: &str =
    "[front_door.door]\nlisten = \"127.0.0.1:0\"\nupstreams = { a = \"127.0.0.1:1\" }\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// What stands between fences that say `language`.
fn fenced<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("\n```{language}\n");
    let behind: Vec<&str> = page.split(begin.as_str()).skip(1).collect();
    let ends = behind
        .into_iter()
        .filter_map(|rest| rest.split("\n```").next());
    ends.collect()
}

/// Command lines as they stand on a page: lines of a shell, and words between backticks in prose.
fn typed(page: &str) -> Vec<String> {
    let mut all = Vec::new();
    for text in fenced(page, "sh") {
        let text = text.replace("\\\n", " ");
        let lines = text.lines().filter_map(|line| line.split(" #").next());
        all.extend(lines.map(str::to_owned));
    }
    let prose = page.split("\n```").step_by(2);
    for text in prose {
        all.extend(text.split('`').skip(1).step_by(2).map(str::to_owned));
    }
    all
}

/// The words of a line up to where its output goes, without quotes and brackets, and with numbers for
/// the places of numbers.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, piece) in line.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(piece.to_owned());
            continue;
        }
        let plain = piece.split_whitespace();
        words.extend(plain.map(|word| match word.trim_matches(['[', ']']) {
            "N" | "NUMBER" => "1".to_owned(),
            word => word.to_owned(),
        }));
    }
    let typed = words.into_iter().take_while(|word| word != ">");
    typed.filter(|word| word != "…").collect()
}

/// The arguments of a line that starts the gateway, under one of its two names.
fn arguments(line: &str) -> Option<Vec<String>> {
    let mut words = words(line).into_iter();
    let program = PathBuf::from(words.next()?);
    let mut arguments = match program.file_name()?.to_str()? {
        "bigproxy" => vec!["front-door".to_owned()],
        "gatewayd" => Vec::new(),
        _ => return None,
    };
    arguments.extend(words);
    (!arguments.is_empty()).then_some(arguments)
}

/// Asked for help at its end, a command line does nothing, and is refused for what it does not know.
fn is_understood(arguments: &[String]) -> bool {
    let mut asked = arguments.to_vec();
    asked.push("--help".to_owned());
    runs(&asked).status.success()
}

#[test]
fn every_command_line_on_a_page_is_one_that_there_is() {
    assert!(!is_understood(&["run".to_owned(), "--confg".to_owned()]));
    for (page, least) in PAGES.into_iter().zip([6, 0, 5, 20]) {
        let all: Vec<Vec<String>> = typed(&read(page))
            .iter()
            .filter_map(|line| arguments(line))
            .collect();
        assert!(all.len() >= least, "{page}: {all:?}");
        for line in all {
            assert!(is_understood(&line), "{page}: {line:?}");
        }
    }
}

#[test]
fn every_command_line_that_starts_it_is_one_that_there_is() {
    for (path, mark) in STARTERS {
        let text = read(path);
        let line = text.lines().find(|line| line.contains(mark));
        let line = line.unwrap_or_else(|| panic!("{path} has no {mark}"));
        let after = line.split_once(['[', '=']).unwrap().1;
        let plain = after.replace([',', '"', ']'], " ");
        let plain = plain.replace("/usr/bin/gatewayd", "");
        assert!(is_understood(&words(&plain)), "{path}: {plain}");
    }
}

#[test]
fn every_configuration_on_a_page_passes() {
    let scratch = Scratch::new();
    let _ = scratch.file("cluster.toml", read("tests/config/door.cluster.toml"));
    for (page, count) in PAGES.into_iter().zip([2, 0, 1, 2]) {
        let text = read(page);
        let samples = fenced(&text, "toml");
        assert_eq!(samples.len(), count, "{page}");
        for sample in samples {
            let is_whole = sample.contains("[listeners.") || sample.contains("[front_door.");
            let rest = if is_whole { "" } else { DOOR };
            let file = scratch.file("sample.toml", format!("{sample}\n{rest}"));
            let ended = runs(&[Path::new("check"), &file]);
            assert!(ended.status.success(), "{page}\n{}", ended.stderr);
        }
    }
}

#[test]
fn every_command_of_the_house_that_a_page_names_is_one_that_there_is() {
    let there_are = read("xtask/src/main.rs");
    let pages = PAGES.into_iter().chain([
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "vendor/pingora-patches/README.md",
    ]);
    for page in pages {
        for rest in read(page).split("cargo xtask ").skip(1) {
            let is_letter = |c: char| c.is_ascii_lowercase() || c == '-';
            let name: String = rest.chars().take_while(|c| is_letter(*c)).collect();
            let is_there = there_are.contains(&format!("\"{name}\""));
            assert!(is_there || name.is_empty(), "{page}: cargo xtask {name}");
        }
    }
}

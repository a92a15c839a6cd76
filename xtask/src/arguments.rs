//! Which words each command takes: asked before anything is built.
//!
//! Leaves to `canary` its own, which are looked at there.

/// Whether these words ask for help.
pub(crate) fn ask_for_help(words: &[String]) -> bool {
    words.iter().any(|word| matches!(&**word, "--help" | "-h"))
}

/// Whether the command takes these words.
pub(crate) fn are_taken(command: &str, words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match (command, words.as_slice()) {
        ("canary", _)
        | (_, [])
        | ("bench", ["instructions" | "files" | "tls"])
        | ("demo", ["--once"])
        | ("generate", ["--check" | "--incumbents"])
        | ("sbom", ["--output", _])
        | ("tls-tools", ["--check"])
        | ("vendor", ["--force"]) => true,
        ("patches", ["--needed", names @ ..]) => !names.iter().any(|name| name.starts_with('-')),
        ("review", [base]) => !base.starts_with('-'),
        ("soak", pairs) => pairs.chunks(2).all(is_of_soak),
        _ => false,
    }
}

fn is_of_soak(pair: &[&str]) -> bool {
    match pair {
        ["--minutes", number] => number.parse::<f64>().is_ok_and(|number| number >= 0.0),
        ["--seed", number] => number.parse::<u64>().is_ok(),
        ["--format", "json" | "table"] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::are_taken;

    fn takes(line: &str) -> bool {
        let mut words = line.split(' ').map(str::to_owned);
        are_taken(&words.next().unwrap(), &words.collect::<Vec<_>>())
    }

    #[test]
    fn a_word_that_a_command_does_not_know_is_refused() {
        let commands = "arch bench check delivery demo differential editors generate patches release \
            review sbom size soak test tls-tools vendor workflows";
        for command in commands.split_whitespace() {
            assert!(takes(command), "{command}");
            assert!(!takes(&format!("{command} --nonsense")), "{command}");
            assert!(!takes(&format!("{command} a b c")), "{command}");
        }
        for line in [
            "bench all",
            "sbom --output",
            "soak --minutes",
            "soak --seed x",
        ] {
            assert!(!takes(line), "{line}");
        }
    }

    #[test]
    fn what_the_usage_shows_is_taken() {
        for line in [
            "bench tls",
            "demo --once",
            "patches --needed",
            "patches --needed 0001 0002",
            "review main~1",
            "sbom --output x.json",
            "soak --minutes 0.5 --seed 7 --format json",
        ] {
            assert!(takes(line), "{line}");
        }
    }
}

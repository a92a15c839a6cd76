//! The record of a patch: a section of the README with five lines.

/// What each record says, in this order.
const LINES: [&str; 5] = [
    "Without it",
    "Goes red",
    "Affected",
    "Upstream",
    "Goes when",
];

/// One section.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    name: String,
    lines: Vec<(String, String)>,
}

impl Record {
    pub(crate) fn is_of(&self, patch: &str) -> bool {
        patch.strip_suffix(".patch") == Some(&self.name)
    }

    /// What one of its lines says; nothing where it has none.
    pub(crate) fn line(&self, title: &str) -> &str {
        let mut lines = self.lines.iter();
        lines
            .find(|(one, _)| one == title)
            .map_or("", |(_, text)| text)
    }

    /// The tests it names: words between backticks that are names in Rust.
    pub(crate) fn tests(&self) -> Vec<String> {
        let words = self.line("Goes red").split('`').skip(1).step_by(2);
        let is_name = |word: &&str| {
            word.chars()
                .all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        words.filter(is_name).map(str::to_owned).collect()
    }

    /// Is it the build that goes red, before any test could?
    pub(crate) fn is_the_build(&self) -> bool {
        self.line("Goes red").starts_with("the build")
    }
}

/// The sections of a README that are called like a patch.
pub(crate) fn read(text: &str) -> Vec<Record> {
    let sections = text.split("\n## ").skip(1);
    sections
        .map(|section| {
            let (name, rest) = section.split_once('\n').unwrap_or((section, ""));
            let lines = rest.lines().filter_map(|line| {
                let (title, text) = line.strip_prefix("- **")?.split_once("**:")?;
                Some((title.to_owned(), text.trim().to_owned()))
            });
            Record {
                name: name.trim().to_owned(),
                lines: lines.collect(),
            }
        })
        .collect()
}

/// What is wrong between these patches, these records, and the Rust there is.
pub(crate) fn breaches(patches: &[String], records: &[Record], rust: &[String]) -> Vec<String> {
    let mut said = Vec::new();
    for patch in patches {
        if records.iter().filter(|record| record.is_of(patch)).count() != 1 {
            said.push(format!("{patch} has no record, or several"));
        }
    }
    for record in records {
        let name = &record.name;
        if !patches.iter().any(|patch| record.is_of(patch)) {
            said.push(format!("{name} is no patch"));
        }
        for title in LINES.iter().filter(|title| record.line(title).is_empty()) {
            said.push(format!("{name} does not say `{title}`"));
        }
        let tests = record.tests();
        if tests.is_empty() && !record.is_the_build() {
            said.push(format!("{name} names no test"));
        }
        for test in tests {
            let head = format!("fn {test}()");
            if !rust.iter().any(|text| text.contains(&head)) {
                said.push(format!("{name}: there is no test `{test}`"));
            }
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::{breaches, read};

    const GOOD: &str = "# Title\n\nProse.\n\n## 0001-one\n\n- **Without it**: a.\n- **Goes red**: `it_works`.\n- **Affected**: 1.\n- **Upstream**: no.\n- **Goes when**: never.\n";

    fn judged(text: &str, patches: &[&str]) -> Vec<String> {
        let patches: Vec<String> = patches.iter().map(|name| (*name).to_owned()).collect();
        breaches(&patches, &read(text), &["fn it_works() {}".to_owned()])
    }

    #[test]
    fn a_record_that_says_everything_passes() {
        assert!(judged(GOOD, &["0001-one.patch"]).is_empty());
        let build = GOOD.replace("`it_works`", "the build, by `deny.toml`");
        assert!(judged(&build, &["0001-one.patch"]).is_empty());
    }

    #[test]
    fn what_is_missing_is_named() {
        let patches = ["0001-one.patch"];
        for (text, said) in [
            (
                GOOD.replace("0001-one", "0002-two"),
                "0001-one.patch has no record",
            ),
            (GOOD.replace("0001-one", "0002-two"), "0002-two is no patch"),
            (
                GOOD.replace("- **Affected**: 1.\n", ""),
                "does not say `Affected`",
            ),
            (GOOD.replace(": never.", ":"), "does not say `Goes when`"),
            (GOOD.replace("`it_works`", "something"), "names no test"),
            (GOOD.replace("it_works", "it_worked"), "no test `it_worked`"),
        ] {
            let found = judged(&text, &patches);
            assert!(
                found.iter().any(|line| line.contains(said)),
                "{said}: {found:?}"
            );
        }
    }
}

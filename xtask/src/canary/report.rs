//! What the canary found: as text for a person and an issue, as JSON for a program.

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::ground::Laid;
use super::verdict::{Kind, Verdict};
use crate::patches::record::Record;

/// How many lines of a log are worth showing.
const LINES: usize = 40;

/// One step after the patches.
#[derive(Debug)]
pub(crate) struct Step {
    name: &'static str,
    /// `None`: an earlier one failed.
    passed: Option<bool>,
    said: Vec<String>,
}

impl Step {
    pub(crate) fn left_out(name: &'static str) -> Self {
        Self {
            name,
            passed: None,
            said: Vec::new(),
        }
    }

    pub(crate) fn ended(name: &'static str, passed: bool, log: &Path) -> Self {
        let text = fs::read_to_string(log).unwrap_or_default();
        let said = match passed {
            true => Vec::new(),
            false => telling(&text),
        };
        Self {
            name,
            passed: Some(passed),
            said,
        }
    }

    const fn word(&self) -> &'static str {
        match self.passed {
            None => "left out",
            Some(true) => "passed",
            Some(false) => "FAILED",
        }
    }
}

/// The lines of cargo's output that say what is wrong, or its last ones where none does.
fn telling(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A warning has places as well.
    let mut in_error = false;
    for line in text.lines() {
        let is_error = line.starts_with("error");
        let is_place = line.trim_start().starts_with("--> ");
        let is_test = line.ends_with("... FAILED") || line.contains("panicked at");
        if is_error || is_place && in_error || is_test {
            found.push(line);
        }
        in_error = is_error || in_error && !is_place && !line.starts_with("warning");
    }
    if found.is_empty() {
        found = text.lines().rev().take(LINES).collect();
        found.reverse();
    }
    let mut shown: Vec<String> = found.into_iter().map(str::to_owned).collect();
    if shown.len() > LINES {
        let more = shown.len() - LINES;
        shown.truncate(LINES);
        shown.push(format!("and {more} more"));
    }
    shown
}

/// The whole of it.
#[derive(Debug)]
pub(crate) struct Report {
    source: String,
    laid: Laid,
    records: Vec<Record>,
    pub(crate) steps: Vec<Step>,
}

impl Report {
    pub(crate) const fn new(source: String, laid: Laid, records: Vec<Record>) -> Self {
        Self {
            source,
            laid,
            records,
            steps: Vec::new(),
        }
    }

    pub(crate) fn has_failed_step(&self) -> bool {
        self.steps.iter().any(|step| step.passed == Some(false))
    }

    /// The first of what is wrong: what comes after it may follow from it.
    pub(crate) fn kind(&self) -> Kind {
        let verdicts = || self.laid.verdicts.iter().map(|(_, verdict)| verdict);
        if verdicts().any(|verdict| matches!(verdict, Verdict::Conflicts(_))) {
            return Kind::PatchConflicts;
        }
        if let Some(step) = self.steps.iter().find(|step| step.passed == Some(false)) {
            let compiles = !matches!(step.name, "compile" | "build");
            return match compiles {
                true => Kind::TestsFail,
                false => Kind::DoesNotCompile,
            };
        }
        match verdicts().any(|verdict| *verdict == Verdict::AlreadyThere) {
            true => Kind::PatchTaken,
            false => Kind::Fine,
        }
    }

    /// What the record of a patch has to say to its verdict.
    fn remark(&self, name: &str, verdict: &Verdict) -> Option<String> {
        let title = match verdict {
            Verdict::Applies => return None,
            Verdict::AlreadyThere => "Goes when",
            Verdict::Conflicts(_) => "Without it",
        };
        let record = self.records.iter().find(|record| record.is_of(name))?;
        Some(format!("{title}: {}", record.line(title)))
    }

    pub(crate) fn json(&self) -> Value {
        let patches: Vec<Value> = self
            .laid
            .verdicts
            .iter()
            .map(|(name, verdict)| {
                let said = match verdict {
                    Verdict::Applies | Verdict::AlreadyThere => Value::Null,
                    Verdict::Conflicts(said) => json!(said),
                };
                let remark = self.remark(name, verdict);
                json!({ "name": name, "verdict": verdict.word(), "said": said, "record": remark })
            })
            .collect();
        let steps: Vec<Value> = self
            .steps
            .iter()
            .map(|step| json!({ "name": step.name, "outcome": step.word(), "said": step.said }))
            .collect();
        json!({
            "source": self.source,
            "versions": self.laid.versions,
            "pinned": self.laid.pinned,
            "kind": self.kind().word(),
            "advice": self.kind().advice(),
            "exit_code": self.kind().code(),
            "patches": patches,
            "steps": steps,
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.source, self.kind().word())?;
        writeln!(f, "{}", self.kind().advice())?;
        for (name, version) in &self.laid.versions {
            writeln!(f, "  {name} {version}, pinned {}", self.laid.pinned)?;
        }
        writeln!(f)?;
        let patches = self.laid.verdicts.iter().map(|(name, _)| name.len());
        let steps = self.steps.iter().map(|step| step.name.len());
        let width = patches.chain(steps).max().unwrap_or_default();
        for (name, verdict) in &self.laid.verdicts {
            writeln!(f, "{name:<width$}  {}", verdict.word())?;
            if let Verdict::Conflicts(said) = verdict {
                said.lines()
                    .try_for_each(|line| writeln!(f, "    {line}"))?;
            }
            if let Some(remark) = self.remark(name, verdict) {
                writeln!(f, "    {remark}")?;
            }
        }
        for step in &self.steps {
            writeln!(f, "{:<width$}  {}", step.name, step.word())?;
            let mut said = step.said.iter();
            said.try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Laid, Report, Step, Verdict, telling};
    use crate::patches::record;

    fn report(verdict: Verdict, step: Option<(&'static str, bool)>) -> Report {
        let laid = Laid {
            versions: [("pingora-core".to_owned(), "0.9.2".to_owned())].into(),
            pinned: "0.9.1".to_owned(),
            verdicts: vec![(
                "0001-one-with-a-name-that-goes-on.patch".to_owned(),
                verdict,
            )],
        };
        let records = "\n## 0001-one-with-a-name-that-goes-on\n- **Without it**: rain.\n- **Goes when**: sun.\n";
        let mut report = Report::new("here".to_owned(), laid, record::read(records));
        report.steps.extend(step.map(|(name, passed)| Step {
            name,
            passed: Some(passed),
            said: vec!["error: no such method".to_owned()],
        }));
        report
    }

    #[test]
    fn the_first_thing_wrong_is_the_kind() {
        use Verdict::{AlreadyThere, Applies};
        let conflicts = || Verdict::Conflicts("error: where".to_owned());
        for (verdict, step, kind) in [
            (Applies, ("compile", true), Kind::Fine),
            (conflicts(), ("compile", false), Kind::PatchConflicts),
            (AlreadyThere, ("compile", false), Kind::DoesNotCompile),
            (Applies, ("build", false), Kind::DoesNotCompile),
            (Applies, ("test", false), Kind::TestsFail),
            (Applies, ("scenarios", false), Kind::TestsFail),
            (AlreadyThere, ("test", true), Kind::PatchTaken),
        ] {
            assert_eq!(report(verdict, Some(step)).kind(), kind, "{step:?}");
        }
    }

    #[test]
    fn no_two_kinds_share_a_code() {
        use Kind::{DoesNotCompile, Fine, PatchConflicts, PatchTaken, TestsFail};
        let all = [Fine, PatchConflicts, DoesNotCompile, TestsFail, PatchTaken];
        assert_eq!(all.map(Kind::code), [0, 3, 4, 5, 6]);
    }

    #[test]
    fn both_forms_say_the_same() {
        let report = report(
            Verdict::Conflicts("error: patch failed: x:1".to_owned()),
            Some(("compile", false)),
        );
        let text = report.to_string();
        let json = report.json();
        for said in [
            "here: patch conflicts",
            "write anew for this Pingora",
            "pingora-core 0.9.2, pinned 0.9.1",
            ".patch  conflicts\n    error: patch failed: x:1\n    Without it: rain.",
            "FAILED\n    error: no such method",
        ] {
            assert!(text.contains(said), "{text}");
        }
        assert_eq!(json["exit_code"], 3);
        assert_eq!(json["pinned"], "0.9.1");
        assert_eq!(json["patches"][0]["verdict"], "conflicts");
        assert_eq!(json["patches"][0]["record"], "Without it: rain.");
        assert_eq!(json["steps"][0]["outcome"], "FAILED");
    }

    #[test]
    fn of_a_patch_that_is_upstreams_it_says_when_it_goes() {
        let taken = report(Verdict::AlreadyThere, None).to_string();
        assert!(
            taken.contains("already there\n    Goes when: sun."),
            "{taken}"
        );
        let fine = report(Verdict::Applies, None).to_string();
        assert!(!fine.contains("sun") && !fine.contains("rain"), "{fine}");
    }

    #[test]
    fn of_a_log_is_shown_what_tells() {
        let log = "   Compiling a\nwarning: unused\n --> a.rs:7:8\nerror[E0599]: no method\n  --> a.rs:1:2\n   |\n  ::: b.rs:3:4\nnote: here\n --> b.rs:5:6\ntest b ... FAILED\n";
        assert_eq!(
            telling(log),
            [
                "error[E0599]: no method",
                "  --> a.rs:1:2",
                "test b ... FAILED"
            ]
        );
        assert_eq!(telling("one\ntwo\n"), ["one", "two"]);
        assert_eq!(telling(&"error\n".repeat(50)).len(), 41);
    }
}

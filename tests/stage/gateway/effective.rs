//! The configuration a front door amounts to, as the binary itself prints it.

use std::time::Duration;

use toml::{Table, Value};

use super::{Plan, runs};
use crate::scratch::Scratch;

/// The expanded configuration.
#[derive(Clone, Debug)]
pub struct Effective {
    /// All of it.
    pub table: Table,
}

impl Plan {
    /// What `--print-config` prints.
    #[must_use]
    pub fn prints_config(self) -> String {
        let ended = runs(&self.switch("--print-config").arguments());
        assert!(ended.status.success(), "--print-config: {}", ended.stderr);
        ended.stdout
    }

    /// What `--print-config` prints, expanded by `gatewayd effective`.
    #[must_use]
    pub fn effective(self) -> Effective {
        let scratch = Scratch::new();
        let file = scratch.file("printed.toml", self.prints_config());
        let ended = runs(&["effective".into(), file]);
        assert!(ended.status.success(), "effective: {}", ended.stderr);
        let table = ended.stdout.parse();
        Effective {
            table: table.unwrap_or_else(|e| panic!("effective prints no TOML: {e}")),
        }
    }
}

impl Effective {
    /// The budgets of the routes with this method and template.
    #[must_use]
    pub fn budgets(&self, method: &str, template: &str) -> Vec<Duration> {
        let sites = self
            .table
            .get("sites")
            .and_then(Value::as_table)
            .into_iter()
            .flatten();
        let routes = sites
            .filter_map(|(_, site)| site.get("routes")?.as_table())
            .flatten();
        let takes = |route: &&Value| {
            let methods = route.get("methods").and_then(Value::as_array);
            let has_method =
                methods.is_some_and(|all| all.iter().any(|m| m.as_str() == Some(method)));
            let path = route
                .get("template")
                .and_then(Value::as_str)
                .unwrap_or_default();
            has_method && positions(path) == positions(template)
        };
        let budget = |route: &Value| duration(route.get("timeouts")?.get("response")?.as_str()?);
        routes
            .map(|(_, route)| route)
            .filter(takes)
            .filter_map(budget)
            .collect()
    }
}

/// The segments, with every captured name written the same way.
fn positions(template: &str) -> Vec<&str> {
    template
        .split('/')
        .map(|part| if part.starts_with('{') { "{}" } else { part })
        .collect()
}

/// `10s`, `2m`, `500ms`.
#[must_use]
pub fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    match unit.trim() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" | "min" => Some(Duration::from_secs(number * 60)),
        "h" => Some(Duration::from_secs(number * 3600)),
        _ => None,
    }
}

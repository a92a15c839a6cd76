//! `preset/`: the plain settings a front door amounts to.

use gateway_tests::gateway::{Plan, duration};
use gateway_tests::vector::{self, Vector, same};
use serde::Deserialize;
use toml::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    path: Vec<String>,
    is: Option<Value>,
    lasts: Option<String>,
    bytes: Option<u64>,
}

#[test]
fn a_front_door_without_flags_amounts_to_these_settings() {
    let printed = Plan::bare().flag("--upstream", "a=127.0.0.1:1").effective();
    let whole = Value::Table(printed.table);

    vector::each("preset", |vector: &Vector<Setting>| {
        let setting = &vector.content;
        let found = below(&whole, &setting.path);
        if found.is_empty() {
            return Err("stands nowhere".to_owned());
        }
        for value in found {
            setting.judge(value)?;
        }
        Ok(())
    });
}

impl Setting {
    fn judge(&self, value: &Value) -> Result<(), String> {
        if let Some(wanted) = &self.is {
            return same("value", value, wanted);
        }
        let text = value.as_str().unwrap_or_default();
        if let Some(lasts) = &self.lasts {
            return same("duration", duration(text), duration(lasts));
        }
        same("size", size(text), self.bytes)
    }
}

/// Every value at the path; a star is every name.
fn below<'table>(value: &'table Value, path: &[String]) -> Vec<&'table Value> {
    let Some((first, rest)) = path.split_first() else {
        return vec![value];
    };
    let Some(table) = value.as_table() else {
        return Vec::new();
    };
    let fits = |(name, _): &(&String, &Value)| first == "*" || *name == first;
    table
        .iter()
        .filter(fits)
        .flat_map(|(_, value)| below(value, rest))
        .collect()
}

/// `8 KiB`, `256 MiB`.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "B" => Some(number),
        "KiB" => Some(number << 10),
        "MiB" => Some(number << 20),
        "GiB" => Some(number << 30),
        _ => None,
    }
}

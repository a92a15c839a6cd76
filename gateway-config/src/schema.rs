//! What a configuration file may say, as JSON Schema (draft 07) for editors.
//!
//! Made from the settings table alone, so an editor knows what the parser knows. Bounds of
//! durations, sizes and shares are words in the description: a pattern cannot compare numbers.

use serde_json::{Map, Value, json};

use crate::settings::{Kind, SETTINGS, Setting};
use crate::value;

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";
const NAME: &str = "^[A-Za-z0-9._-]{1,63}$";

/// What is said of a setting besides its sentence, by its path.
type Note<'n> = &'n dyn Fn(&str) -> Option<String>;

/// The schema, as a JSON document; with a note to each setting that has one.
#[must_use]
pub fn text(note: Note<'_>) -> String {
    let mut schema = table("", note);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("$schema".to_owned(), json!(DRAFT));
        fields.insert("title".to_owned(), json!("The configuration of gatewayd"));
    }
    format!("{schema:#}\n")
}

/// A table with the settings below a path, and nothing else.
fn table(path: &str, note: Note<'_>) -> Value {
    let below = SETTINGS.iter().filter(|one| one.parent() == path);
    let properties: Map<String, Value> = below
        .map(|one| (one.key().to_owned(), property(one, note)))
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// One setting: what it takes, what it does, and what it is when absent.
fn property(setting: &Setting, note: Note<'_>) -> Value {
    let mut schema = taken(setting.path, setting.kind, note);
    let mut description = match range(setting.short()) {
        Some(range) => format!("{} Takes {range}.", setting.sentence),
        None => setting.sentence.to_owned(),
    };
    if let Some(note) = note(setting.path) {
        description.push(' ');
        description.push_str(&note);
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), json!(description));
        if let Some(default) = default(setting.kind) {
            fields.insert("default".to_owned(), default);
        }
    }
    schema
}

/// The values a kind of setting takes; the settings below it are those below `path`.
fn taken(path: &str, kind: Kind, note: Note<'_>) -> Value {
    let text = || json!({ "type": "string" });
    let entries = || table(&format!("{path}.*"), note);
    match kind {
        Kind::Bool { .. } => json!({ "type": "boolean" }),
        Kind::Duration {
            bare_millis: true, ..
        } => json!({ "type": ["string", "integer"], "pattern": "^[0-9]+ *(ms|s|m|h|d)?$" }),
        Kind::Duration { .. } => json!({ "type": "string", "pattern": "^[0-9]+ *(ms|s|m|h|d)$" }),
        Kind::Integer { min, max, .. } => integer(min, max),
        Kind::Integers { min, max } => one_or_many(&integer(min, max)),
        Kind::Nodes => json!({ "type": "array", "items": { "anyOf": [text(), entries()] } }),
        Kind::Share { .. } => json!({ "type": "string", "pattern": "^[0-9]+ *%$" }),
        Kind::Size { .. } => json!({ "type": "string", "pattern": "^[0-9]+ *(B|KiB|MiB|GiB)$" }),
        Kind::Table => table(path, note),
        Kind::TableOr(short) => json!({ "anyOf": [taken(path, *short, note), table(path, note)] }),
        Kind::TableList => json!({ "type": "array", "items": entries() }),
        Kind::Tables => json!({
            "type": "object",
            "propertyNames": { "pattern": NAME },
            "additionalProperties": entries(),
        }),
        Kind::Text => text(),
        Kind::TextByName => json!({ "type": "object", "additionalProperties": text() }),
        Kind::TextOrTexts => one_or_many(&text()),
        Kind::TextOrTrueByName => json!({
            "type": "object",
            "additionalProperties": { "anyOf": [text(), { "const": true }] },
        }),
        Kind::Texts => json!({ "type": "array", "items": text() }),
        Kind::Word { words, .. } => json!({ "type": "string", "enum": words }),
        Kind::Words { words, .. } => json!({
            "type": "array",
            "items": { "type": "string", "enum": words },
            "uniqueItems": true,
        }),
    }
}

fn integer(min: u64, max: u64) -> Value {
    json!({ "type": "integer", "minimum": min, "maximum": max })
}

fn one_or_many(one: &Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// The bounds that a pattern does not hold.
#[must_use]
pub fn range(kind: Kind) -> Option<String> {
    match kind {
        Kind::Duration { min, max, .. } => Some(format!(
            "{} to {}",
            value::write_duration(min),
            value::write_duration(max)
        )),
        Kind::Size { min, max, .. } => Some(format!(
            "{} to {}",
            value::write_size(min),
            value::write_size(max)
        )),
        Kind::Share { min, max, .. } => Some(format!("{min}% to {max}%")),
        _ => None,
    }
}

/// The default as a file would say it. A list without words, and a short form that is a list,
/// stand for something that the sentence says.
#[must_use]
pub fn default(kind: Kind) -> Option<Value> {
    match kind {
        Kind::Bool { default } => Some(json!(default)),
        Kind::Duration { default, .. } => default.map(|time| json!(value::write_duration(time))),
        Kind::Integer { default, .. } => default.map(|number| json!(number)),
        Kind::Share { default, .. } => default.map(|share| json!(format!("{share}%"))),
        Kind::Size { default, .. } => default.map(|size| json!(value::write_size(size))),
        Kind::TableOr(short) if !matches!(short, Kind::Words { .. }) => self::default(*short),
        Kind::Word { default, .. } => Some(json!(default)),
        Kind::Words { default, .. } if !default.is_empty() => Some(json!(default)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        super::text(&|path| (path == "workers").then(|| "A note.".to_owned()))
    }

    #[test]
    fn a_note_stands_behind_the_sentence() {
        let schema: Value = serde_json::from_str(&text()).unwrap();
        let told = schema["properties"]["workers"]["description"]
            .as_str()
            .unwrap();
        assert!(told.ends_with(". A note."), "{told}");
        assert_eq!(text().matches("A note.").count(), 1);
    }

    #[test]
    fn every_setting_is_in_it_once_and_nothing_is_null() {
        let schema: Value = serde_json::from_str(&text()).unwrap();
        assert_eq!(descriptions(&schema), SETTINGS.len());
        assert!(!text().contains("null"));
    }

    #[test]
    fn no_setting_could_name_a_certificate_for_nodes() {
        let is_such = |path: &&str| {
            let key = path.rsplit('.').next().unwrap_or_default();
            let words = [
                "auth", "cert", "chain", "client", "identity", "key", "pkcs12", "pem",
            ];
            words.iter().any(|word| key.contains(word))
        };
        let of = |table: &str| -> Vec<&str> {
            let paths = SETTINGS.iter().map(|one| one.path);
            let below = paths.filter(|path| path.starts_with(table));
            below.filter(is_such).collect()
        };
        assert_eq!(of("pools."), [""; 0]);
        // What a front door shows to its clients.
        let doors = ["front_door.*.tls_cert", "front_door.*.tls_key"];
        assert_eq!(of("front_door."), doors);
    }

    #[test]
    fn every_table_of_settings_refuses_what_is_not_one() {
        closed(&serde_json::from_str(&text()).unwrap());
    }

    fn descriptions(value: &Value) -> usize {
        let below: usize = parts(value).map(descriptions).sum();
        let is_text = value.get("description").is_some_and(Value::is_string);
        below + usize::from(is_text)
    }

    fn closed(value: &Value) {
        if value.get("type") == Some(&json!("object")) {
            let rest = value.get("additionalProperties");
            assert!(rest.is_some_and(|rest| rest != &json!(true)), "{value}");
        }
        parts(value).for_each(closed);
    }

    fn parts(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
        match value {
            Value::Array(all) => Box::new(all.iter()),
            Value::Object(all) => Box::new(all.values()),
            _ => Box::new(std::iter::empty()),
        }
    }
}

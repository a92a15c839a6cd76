//! What each kind of setting takes, as a value and in words.

use toml::de::{DeInteger, DeValue};

use crate::settings::Kind;

/// What a kind of setting takes, and an example.
pub(super) fn describe(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Bool { .. } => ("true or false", "true or false without quotes"),
        Kind::Duration { .. } => ("a duration", "\"5s\""),
        Kind::Integer { .. } => ("a whole number", "digits without quotes"),
        Kind::Integers { .. } => ("a whole number, or several", "200 or [200, 204]"),
        Kind::Nodes => ("a list of nodes", r#"["10.0.0.11:8080"]"#),
        Kind::Share { .. } => ("a share", "\"20%\""),
        Kind::Size { .. } => ("a size", "\"64 KiB\""),
        Kind::Table => ("a table", "{ … } or a table of its own"),
        Kind::TableList => ("a list of tables", "[{ … }]"),
        Kind::TableOr(short) => describe(*short),
        Kind::Tables => ("tables with names", "[NAME] with its settings below"),
        Kind::Text | Kind::Word { .. } => ("a text", "\"…\""),
        Kind::TextByName => ("a table from names to texts", "{ name = \"…\" }"),
        Kind::TextOrTexts => ("a text, or a list of texts", "\"…\" or [\"…\"]"),
        Kind::TextOrTrueByName => ("a table from names to texts or true", "{ name = \"…\" }"),
        Kind::Texts | Kind::Words { .. } => ("a list of texts", "[\"…\"]"),
    }
}

/// Whether a value that is no number is of a kind by itself.
pub(super) fn is_leaf(kind: Kind, value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Boolean(_) => matches!(kind, Kind::Bool { .. }),
        DeValue::String(_) => matches!(
            kind,
            Kind::Duration { .. }
                | Kind::Share { .. }
                | Kind::Size { .. }
                | Kind::Text
                | Kind::TextOrTexts
                | Kind::Word { .. }
        ),
        _ => false,
    }
}

/// Whether digits without quotes are looked at: those without a unit have a finding of their own.
pub(super) fn takes_digits(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Duration { .. }
            | Kind::Integer { .. }
            | Kind::Integers { .. }
            | Kind::Share { .. }
            | Kind::Size { .. }
    )
}

/// Whether a number can be read at all.
pub(super) fn fits(number: &DeInteger<'_>) -> bool {
    i64::from_str_radix(number.as_str(), number.radix()).is_ok()
}

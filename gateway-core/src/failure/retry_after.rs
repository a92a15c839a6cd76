//! Carries the time a node, or we, ask a client to wait.
//!
//! Source: RFC 9110 §10.2.3.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// The value of a `Retry-After` field. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryAfter(Text);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Text {
    Node(Arc<str>),
    Ours,
}

impl RetryAfter {
    /// One second: what we ask for ourselves.
    pub const ONE_SECOND: Self = Self(Text::Ours);

    /// Takes the value a node sent, seconds or a date, as it stands.
    ///
    /// `None` when it is empty, longer than 64 bytes or holds anything but printable ASCII: such a
    /// value is no reason to try another node, nor one to hand on.
    #[must_use]
    pub fn from_node(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
        let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let fits = !text.is_empty() && text.len() <= 64;
        (is_plain && fits).then(|| Self(Text::Node(text.into())))
    }

    /// Whole seconds, rounded up; at least one.
    #[must_use]
    pub fn of(time: Duration) -> Self {
        let more = u64::from(time.subsec_nanos() > 0);
        match time.as_secs().saturating_add(more) {
            0 | 1 => Self::ONE_SECOND,
            seconds => Self(Text::Node(seconds.to_string().into())),
        }
    }

    /// The value as it is written into the field.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Node(text) => text,
            Text::Ours => "1",
        }
    }

    /// The value, borrowed for ever when it is ours.
    #[must_use]
    pub fn to_cow(&self) -> Cow<'static, str> {
        match &self.0 {
            Text::Node(text) => Cow::Owned(text.as_ref().to_owned()),
            Text::Ours => Cow::Borrowed("1"),
        }
    }
}

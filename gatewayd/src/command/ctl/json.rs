//! Answers as JSON, as protobuf maps them, with the names of the fields as they are written.

use std::sync::OnceLock;

use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::{Value, json};

use crate::proto::{DESCRIBED, runtime};

/// One message, over several lines.
pub(in crate::command) fn document<M: prost::Message + prost::Name>(message: &M) -> String {
    format!("{:#}\n", value(message))
}

/// One message, on one line.
pub(super) fn line<M: prost::Message + prost::Name>(message: &M) -> String {
    format!("{}\n", value(message))
}

/// Everything that `status` shows.
pub(super) fn status(
    plane: &runtime::DataPlane,
    health: &runtime::ListUpstreamHealthResponse,
) -> String {
    let mut whole = value(plane);
    let pools = value(health).get("pools").cloned().unwrap_or_default();
    if let Some(fields) = whole.as_object_mut() {
        fields.insert("pools".to_owned(), pools);
    }
    format!("{whole:#}\n")
}

fn value<M: prost::Message + prost::Name>(message: &M) -> Value {
    let described = pool().and_then(|pool| pool.get_message_by_name(&M::full_name()));
    let decoded = described.and_then(|described| {
        DynamicMessage::decode(described, message.encode_to_vec().as_slice()).ok()
    });
    let options = SerializeOptions::new()
        .use_proto_field_name(true)
        .skip_default_fields(false)
        .stringify_64_bit_integers(false);
    let written = decoded.and_then(|decoded| {
        let to = serde_json::value::Serializer;
        decoded.serialize_with_options(to, &options).ok()
    });
    written.unwrap_or_else(|| json!({}))
}

fn pool() -> Option<&'static DescriptorPool> {
    static POOL: OnceLock<Option<DescriptorPool>> = OnceLock::new();
    POOL.get_or_init(|| DescriptorPool::decode(DESCRIBED).ok())
        .as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_zero_is_there_and_numbers_are_numbers() {
        let change = runtime::Change {
            generation: 7,
            ..runtime::Change::default()
        };
        let value: Value = serde_json::from_str(&document(&change)).unwrap();
        assert_eq!(value["generation"], 7);
        assert_eq!(value["unchanged"], false);
        assert_eq!(value["listeners_added"], json!([]));
    }
}

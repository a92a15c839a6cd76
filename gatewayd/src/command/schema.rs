//! `gatewayd schema`: what a configuration file may say, for editors.

use gateway_config::capability::unserved_of;
use gateway_config::schema;
use gateway_pingora::CAPABILITIES;

use super::print;
use crate::exit::Exit;

/// Prints the schema.
pub(super) fn run() -> Exit {
    print(&text())
}

fn text() -> String {
    schema::text(&|path| unserved_of(path, CAPABILITIES))
}

#[cfg(test)]
mod tests {
    /// `cargo xtask generate` renews it; review the difference.
    const GOLDEN: &str = include_str!("../../../docs/gateway.schema.json");

    #[test]
    fn the_schema_in_the_documents_is_the_one_of_the_table() {
        assert!(
            super::text() == GOLDEN,
            "docs/gateway.schema.json is not what `gatewayd schema` prints"
        );
    }
}

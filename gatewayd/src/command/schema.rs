//! `gatewayd schema`: what a configuration file may say, for editors.

use gateway_config::schema;

use super::print;
use crate::exit::Exit;

/// Prints the schema.
pub(super) fn run() -> Exit {
    print(&schema::text())
}

//! gatewayd.
fn main() {}

//! Compiles the interface of the control plane, without a `protoc` on the machine.

use std::path::PathBuf;

use prost::Message;

/// The interface, under `proto/`.
const FILES: [&str; 2] = [
    "pingora/panel/gateway/v1/gateway_runtime.proto",
    "gateway/control/v1/gateway_config.proto",
];

#[expect(
    clippy::disallowed_methods,
    reason = "cargo says where to build in the environment"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let described = protox::compile(FILES, ["proto"])?;
    let out: PathBuf = std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?.into();
    // For reflection, and for JSON.
    std::fs::write(out.join("control.bin"), described.encode_to_vec())?;
    let mut config = tonic_prost_build::Config::new();
    config.enable_type_names();
    tonic_prost_build::configure()
        .include_file("proto.rs")
        .compile_fds_with_config(described, config)?;
    Ok(())
}

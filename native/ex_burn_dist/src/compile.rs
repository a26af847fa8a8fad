//! Calls cargo, or what stands in for it, to compile a library for release.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::targets::{Build, CRATE, Oldest};

/// The cargo profile of releases.
const PROFILE: &str = "dist";

/// What compiles.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Compiler {
    /// Cargo, for what this machine can link.
    Cargo,
    /// `cross`: cargo in a container.
    Cross,
    /// `cargo-zigbuild`: cargo with Zig's linker, which links for an old glibc
    /// anywhere.
    Zigbuild,
}

/// Compiles `build` and returns the library's path.
pub fn compile(build: &Build, oldest: &Oldest, compiler: Compiler) -> Result<PathBuf> {
    let mut command = command(build, oldest, compiler);
    let status = command.status().with_context(|| format!("can't run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(target_folder().join(&build.target).join(PROFILE).join(&build.library))
}

fn command(build: &Build, oldest: &Oldest, compiler: Compiler) -> Command {
    let triple = &build.target;
    let mut command = Command::new(match compiler {
        Compiler::Cargo => "cargo",
        Compiler::Cross => "cross",
        Compiler::Zigbuild => "cargo-zigbuild",
    });
    command.args(["rustc", "--locked", "--profile", PROFILE, "--package", CRATE, "--lib"]);
    command.args(["--features", &build.features, "--crate-type", build.kind.name()]);
    command.arg("--target");
    command.arg(match compiler {
        Compiler::Zigbuild if triple.ends_with("-linux-gnu") => {
            format!("{triple}.{}", oldest.glibc)
        }
        _ => triple.clone(),
    });
    // Where cargo keeps the crates is in the messages of their panics, and must
    // not tell one builder's library from another's. `cross` has them in /cargo.
    if let Some(home) = cargo_home() {
        let flag = format!("--remap-path-prefix={}=/cargo", home.display());
        command.args(["--config", &format!("target.{triple}.rustflags=['{flag}']")]);
    }
    command.env("MACOSX_DEPLOYMENT_TARGET", oldest.macos.to_string());
    command.env("IPHONEOS_DEPLOYMENT_TARGET", oldest.ios.to_string());
    command
}

fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")))
}

fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::Table;

    fn arguments(target: &str, variant: Option<&str>, compiler: Compiler) -> String {
        let table = Table::parse(include_str!("../../targets.toml")).unwrap();
        let build = table.select("0.7.0", target, variant, None).unwrap();
        format!("{:?}", command(&build, &table.oldest, compiler)).replace('"', "")
    }

    #[test]
    fn the_features_are_those_of_the_variant() {
        let arguments = arguments("x86_64-unknown-linux-gnu", Some("vulkan"), Compiler::Cross);
        assert!(arguments.contains("cross rustc --locked --profile dist"), "{arguments}");
        assert!(arguments.contains("--features vulkan"), "{arguments}");
        assert!(arguments.contains("--crate-type cdylib"), "{arguments}");
        assert!(arguments.contains("--target x86_64-unknown-linux-gnu "), "{arguments}");
    }

    #[test]
    fn zig_links_for_the_oldest_glibc() {
        let gnu = arguments("aarch64-unknown-linux-gnu", None, Compiler::Zigbuild);
        assert!(gnu.contains("--target aarch64-unknown-linux-gnu.2.31 "), "{gnu}");
        let musl = arguments("aarch64-unknown-linux-musl", None, Compiler::Zigbuild);
        assert!(musl.contains("--target aarch64-unknown-linux-musl "), "{musl}");
    }

    #[test]
    fn apple_is_told_the_oldest_system() {
        let ios = arguments("aarch64-apple-ios", None, Compiler::Cargo);
        assert!(ios.contains("IPHONEOS_DEPLOYMENT_TARGET=15.0"), "{ios}");
        assert!(ios.contains("--crate-type staticlib"), "{ios}");
    }
}

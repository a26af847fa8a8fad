//! The release tool as it is called.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const TARGET: &str = "x86_64-unknown-linux-gnu";

struct Release(TempDir);

impl Release {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("library"), b"a library").unwrap();
        Self(folder)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ex_burn_dist"))
            .args(["--targets", concat!(env!("CARGO_MANIFEST_DIR"), "/../targets.toml")])
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    /// Runs what must succeed, and returns what it printed.
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Runs what must fail, and returns what it said.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Puts one of the tests' libraries into the folder.
    fn add(&self, fixture: &str) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/");
        let packed = fs::read(format!("{folder}{fixture}.gz")).unwrap();
        let mut bytes = Vec::new();
        flate2::bufread::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
        fs::write(self.path(fixture), bytes).unwrap();
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }
}

#[test]
fn a_release_from_pack_to_verify() {
    let release = Release::new();
    let base = release.ok(&["pack", "--target", TARGET, "library"]);
    let cuda = release.ok(&["pack", "--target", TARGET, "--variant", "cuda", "library"]);
    assert!(cuda.contains("--cuda.so.tar.gz"));

    let first = fs::read(release.path(&base)).unwrap();
    release.ok(&["pack", "--target", TARGET, "library"]);
    assert_eq!(first, fs::read(release.path(&base)).unwrap());

    release.ok(&["checksum", "dist"]);
    release.ok(&["verify", "dist"]);
    assert!(
        release.refused(&["verify", "--complete", "dist"]).contains("not in the checksum file")
    );

    fs::write(release.path(&base), b"tampered").unwrap();
    assert!(release.refused(&["verify", "dist"]).contains("mismatched"));
    assert!(release.refused(&["checksum", "dist"]).contains("--replace"));
    fs::remove_file(release.path(&base)).unwrap();
    assert!(release.refused(&["verify", "dist"]).contains("missing"));
}

#[test]
fn checksums_of_another_version_are_dropped() {
    let release = Release::new();
    let file = release.path("checksum-Elixir.ExBurn.Nif.exs");
    let old = "libex_burn_nif-v0.0.1-nif-2.15-x86_64-unknown-linux-gnu.so.tar.gz";
    let zeros = "0".repeat(64);
    fs::write(&file, format!("%{{\n  \"{old}\" => \"sha256:{zeros}\",\n}}\n")).unwrap();

    release.ok(&["pack", "--target", TARGET, "library"]);
    release.ok(&["checksum", "dist"]);
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("v0.0.1"));
    assert_eq!(text.lines().count(), 3);
}

#[test]
fn a_release_of_the_whole_table_is_complete() {
    let release = Release::new();
    let matrix: serde_json::Value = serde_json::from_str(&release.ok(&["matrix"])).unwrap();
    for build in matrix["include"].as_array().unwrap() {
        let value = |key: &str| build[key].as_str().unwrap().to_owned();
        let (target, variant) = (value("target"), value("variant"));
        let packed = release.ok(&["pack", "--target", &target, "--variant", &variant, "library"]);
        assert_eq!(Path::new(&packed).file_name().unwrap(), &*value("artifact"));
    }
    release.ok(&["checksum", "dist"]);
    release.ok(&["verify", "--complete", "dist"]);
}

#[test]
fn inspect_refuses_what_does_not_load_everywhere() {
    let release = Release::new();
    release.add("linux-gnu.so");
    let base = release.ok(&["pack", "--target", TARGET, "linux-gnu.so"]);
    let said = release.ok(&["inspect", "dist"]);
    assert!(said.contains(&base) && said.contains("starts  nif_init"), "{said}");

    release.add("linux-gnu-2.34.so");
    release.ok(&["pack", "--target", TARGET, "--variant", "cuda", "linux-gnu-2.34.so"]);
    let said = release.refused(&["inspect", "dist"]);
    assert!(said.contains("--cuda.so.tar.gz needs glibc 2.34, over 2.31"), "{said}");

    release.ok(&["pack", "--target", TARGET, "library"]);
    assert!(release.refused(&["inspect", &base]).contains(&base["dist/".len()..]));
}

/// Of the workspace itself, since only cargo knows what goes in.
#[test]
fn the_crates_of_an_artifact_are_listed() {
    let list = |verb: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_ex_burn_dist"))
            .args([verb, "--target", TARGET])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let sbom: serde_json::Value = serde_json::from_str(&list("sbom")).unwrap();
    let names: Vec<_> =
        sbom["components"].as_array().unwrap().iter().map(|crate_| &crate_["name"]).collect();
    assert!(names.iter().any(|name| *name == "burn-flex"));
    assert!(names.iter().all(|name| *name != "ex_burn_dist" && *name != "cudarc"));
    assert!(list("licences").contains("Apache-2.0"));
}

#[test]
fn wrong_input_is_named() {
    let release = Release::new();
    let refused = |arguments: &[&str], word: &str| {
        let said = release.refused(arguments);
        assert!(said.contains(word), "{arguments:?}: {said}");
    };
    refused(&["pack", "--target", "pdp11", "library"], "pdp11");
    refused(&["pack", "--target", TARGET, "--variant", "metal", "library"], "metal");
    refused(&["pack", "--target", TARGET, "--nif-version", "1.0", "library"], "1.0");
    refused(&["pack", "--target", TARGET, "nothing"], "nothing");
    refused(&["checksum", "library"], "no such artifact");
    refused(&["verify", "."], "no artifact");
}

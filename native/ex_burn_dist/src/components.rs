//! The crates that go into an artifact, with their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::targets::{Build, CRATE};

/// A crate that an artifact is linked from.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Component {
    name: String,
    version: String,
    /// An SPDX expression.
    licence: String,
    /// The SHA-256 of the package; none for the crates of this workspace.
    checksum: Option<String>,
}

/// The crates of one build, sorted. Asks cargo which ones the build's target
/// and features take, and `lock` for their checksums.
pub fn components(build: &Build, lock: &Path) -> Result<Vec<Component>> {
    let text =
        std::fs::read_to_string(lock).with_context(|| format!("can't read {}", lock.display()))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["tree", "--locked", "--package", CRATE, "--features", &build.features]);
    cargo.args(["--target", &build.target, "--edges", "normal,no-proc-macro"]);
    cargo.args(["--prefix", "none", "--no-dedupe", "--format", "{p}|{l}"]);
    let output = cargo.output().with_context(|| format!("can't run {cargo:?}"))?;
    ensure!(
        output.status.success(),
        "{cargo:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    parse(&String::from_utf8(output.stdout)?, &checksums(&text)?)
}

type Checksums = BTreeMap<(String, String), String>;

/// Checksums by name and version.
fn checksums(lock: &str) -> Result<Checksums> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
        checksum: Option<String>,
    }
    let lock: Lock = toml::from_str(lock)?;
    let packages = lock.package.into_iter();
    Ok(packages.filter_map(|p| Some(((p.name, p.version), p.checksum?))).collect())
}

/// Reads lines such as `rayon v1.11.0|MIT OR Apache-2.0`, each crate as often
/// as another depends on it.
fn parse(tree: &str, checksums: &Checksums) -> Result<Vec<Component>> {
    let lines: BTreeSet<_> = tree.lines().filter(|line| !line.is_empty()).collect();
    lines
        .into_iter()
        .map(|line| {
            let (package, licence) = line.split_once('|').unwrap_or((line, ""));
            let mut words = package.split(' ');
            let (Some(name), Some(version)) = (words.next(), words.next()) else {
                anyhow::bail!("cargo tree names a crate as {package:?}");
            };
            ensure!(!licence.is_empty(), "{package} has no licence");
            let key = (name.to_owned(), version.trim_start_matches('v').to_owned());
            let checksum = checksums.get(&key).cloned();
            let (name, version) = key;
            Ok(Component { name, version, licence: licence.replace('/', " OR "), checksum })
        })
        .collect()
}

/// The bill of materials of an artifact, in CycloneDX.
pub fn sbom(build: &Build, version: &str, components: &[Component]) -> Value {
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": { "type": "library", "name": build.artifact, "version": version },
        },
        "components": components.iter().map(entry).collect::<Vec<_>>(),
    })
}

fn entry(component: &Component) -> Value {
    let Component { name, version, licence, checksum } = component;
    let mut entry = json!({
        "type": "library",
        "name": name,
        "version": version,
        "licenses": [{ "expression": licence }],
    });
    if let Some(checksum) = checksum {
        entry["purl"] = json!(format!("pkg:cargo/{name}@{version}"));
        entry["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    entry
}

/// The crates under each licence, for people.
pub fn licences(components: &[Component]) -> String {
    let mut by_licence: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Component { name, version, licence, .. } in components {
        by_licence.entry(licence).or_default().push(format!("{name} {version}"));
    }
    let mut text = String::new();
    for (licence, crates) in by_licence {
        let _ = writeln!(text, "{licence}\n  {}", crates.join("\n  "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::Table;

    const TREE: &str = "ex_burn_nif v0.7.0 (/ex_burn/native/ex_burn_nif)|Apache-2.0\n\
                        rayon v1.11.0|MIT/Apache-2.0\n\
                        \n\
                        half v2.7.1|MIT OR Apache-2.0\n\
                        rayon v1.11.0|MIT/Apache-2.0\n";

    const LOCK: &str = "[[package]]\nname = \"rayon\"\nversion = \"1.11.0\"\nchecksum = \"abc\"\n\
                        [[package]]\nname = \"ex_burn_nif\"\nversion = \"0.7.0\"\n";

    fn sample() -> Vec<Component> {
        parse(TREE, &checksums(LOCK).unwrap()).unwrap()
    }

    #[test]
    fn each_crate_is_listed_once_with_its_checksum() {
        let sample = sample();
        let names: Vec<_> = sample.iter().map(|component| component.name.as_str()).collect();
        assert_eq!(names, ["ex_burn_nif", "half", "rayon"]);
        assert_eq!(sample[0].checksum, None);
        assert_eq!(sample[2].checksum.as_deref(), Some("abc"));
        assert_eq!(sample[2].licence, "MIT OR Apache-2.0");
    }

    #[test]
    fn a_crate_without_a_licence_is_refused() {
        let error = parse("rayon v1.11.0|\n", &Checksums::new()).unwrap_err();
        assert!(error.to_string().contains("rayon v1.11.0 has no licence"));
    }

    #[test]
    fn the_bill_names_artifact_and_crates() {
        let table = Table::parse(include_str!("../../targets.toml")).unwrap();
        let build = table.select("0.7.0", "aarch64-apple-darwin", None, None).unwrap();
        let bill = sbom(&build, "0.7.0", &sample());
        assert_eq!(bill["metadata"]["component"]["name"], build.artifact);
        assert_eq!(bill["components"][2]["purl"], "pkg:cargo/rayon@1.11.0");
        assert_eq!(bill["components"][0].get("hashes"), None);
    }

    #[test]
    fn licences_are_listed_with_their_crates() {
        assert_eq!(
            licences(&sample()),
            "Apache-2.0\n  ex_burn_nif 0.7.0\nMIT OR Apache-2.0\n  half 2.7.1\n  rayon 1.11.0\n"
        );
    }
}

//! The checksum file: an Elixir map from artifact to SHA-256, which
//! `RustlerPrecompiled` reads. It is written here, since Mix can only write it
//! once the package compiles, and the package only compiles once it is there.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

/// The algorithm's name and the digest in hex, as `RustlerPrecompiled` writes them.
pub fn checksum(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Checksums by artifact.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Checksums(BTreeMap<String, String>);

impl Checksums {
    /// Reads the file; one that is not there is empty.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        std::fs::read_to_string(path)
            .map_err(anyhow::Error::from)
            .and_then(|text| Self::parse(&text))
            .with_context(|| format!("can't read the checksum file {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let body = text
            .trim()
            .strip_prefix("%{")
            .and_then(|rest| rest.strip_suffix('}'))
            .context("it is not an Elixir map")?;
        let mut checksums = Self::default();
        for entry in body.split(',').map(str::trim) {
            if entry.is_empty() {
                continue;
            }
            let (name, checksum) = entry
                .split_once("=>")
                .and_then(|(name, checksum)| Some((quoted(name)?, quoted(checksum)?)))
                .with_context(|| format!("{entry} is not \"artifact\" => \"checksum\""))?;
            let digest = checksum.strip_prefix("sha256:").unwrap_or_default();
            ensure!(
                digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{name} has no SHA-256 checksum"
            );
            let known = checksums.0.insert(name.to_owned(), checksum.to_owned());
            ensure!(known.is_none(), "{name} is listed twice");
        }
        Ok(checksums)
    }

    /// Drops the artifacts that `keep` refuses, and returns their names.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) -> Vec<String> {
        let (kept, dropped) =
            std::mem::take(&mut self.0).into_iter().partition(|(name, _)| keep(name));
        self.0 = kept;
        BTreeMap::into_keys(dropped).collect()
    }

    /// Adds an artifact. One that was published never changes its bytes, so
    /// another checksum for a known name needs `replace`.
    pub fn add(&mut self, name: &str, checksum: String, replace: bool) -> Result<()> {
        match self.0.entry(name.to_owned()) {
            Entry::Vacant(entry) => {
                entry.insert(checksum);
            }
            Entry::Occupied(entry) if *entry.get() == checksum => {}
            Entry::Occupied(mut entry) if replace => {
                entry.insert(checksum);
            }
            Entry::Occupied(entry) => bail!(
                "{name} is known as {}, and is now {checksum}; --replace allows that",
                entry.get()
            ),
        }
        Ok(())
    }

    /// The checksum of an artifact.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The artifacts, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl fmt::Display for Checksums {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return writeln!(formatter, "%{{}}");
        }
        writeln!(formatter, "%{{")?;
        for (name, checksum) in &self.0 {
            writeln!(formatter, "  \"{name}\" => \"{checksum}\",")?;
        }
        writeln!(formatter, "}}")
    }
}

fn quoted(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains(['"', '\\', '#'])).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Checksums {
        let mut checksums = Checksums::default();
        for name in ["b-v2.so.tar.gz", "a-v2.so.tar.gz", "a-v1.so.tar.gz"] {
            checksums.add(name, checksum(name.as_bytes()), false).unwrap();
        }
        checksums
    }

    #[test]
    fn a_known_digest() {
        assert_eq!(
            checksum(b"abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn what_is_written_reads_back_and_is_sorted() {
        for checksums in [Checksums::default(), sample()] {
            let text = checksums.to_string();
            assert_eq!(Checksums::parse(&text).unwrap(), checksums);
        }
        let text = sample().to_string();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.is_sorted_by_key(|line| line.trim_start_matches('%').starts_with('}')));
        assert_eq!(lines[0], "%{");
        assert!(lines[1].starts_with("  \"a-v1.so.tar.gz\" => \"sha256:"));
        assert!(lines[3].starts_with("  \"b-v2.so.tar.gz\" => \"sha256:"));
    }

    #[test]
    fn a_changed_artifact_needs_replace() {
        let mut checksums = sample();
        let other = checksum(b"other");
        let error = checksums.add("a-v2.so.tar.gz", other.clone(), false).unwrap_err();
        assert!(error.to_string().contains("--replace"));
        checksums.add("a-v2.so.tar.gz", other.clone(), true).unwrap();
        assert_eq!(checksums.get("a-v2.so.tar.gz"), Some(other.as_str()));
    }

    #[test]
    fn retain_tells_what_it_dropped() {
        let mut checksums = sample();
        assert_eq!(checksums.retain(|name| name.contains("v2")), ["a-v1.so.tar.gz"]);
        assert_eq!(checksums.names().count(), 2);
    }

    #[test]
    fn anything_but_a_map_of_checksums_is_refused() {
        let digest = checksum(b"");
        for text in [
            String::new(),
            "[]".to_owned(),
            "%{\"a\" => 1}".to_owned(),
            "%{\"a\" => \"md5:00\"}".to_owned(),
            format!("%{{a: \"{digest}\"}}"),
            format!("%{{\"a#{{b}}\" => \"{digest}\"}}"),
            format!("%{{\"a\" => \"{digest}\", \"a\" => \"{digest}\"}}"),
        ] {
            assert!(Checksums::parse(&text).is_err(), "{text}");
        }
    }
}

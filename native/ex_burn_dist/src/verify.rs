//! Holds artifacts, the checksum file and the table of targets to each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::archive;
use crate::checksums::{Checksums, checksum};

/// One way in which they disagree.
#[derive(Debug, Eq, PartialEq)]
pub enum Fault {
    /// The checksum file lists an artifact that is not there.
    Missing(String),
    /// An artifact is there that the checksum file does not list.
    Extra(String),
    /// An artifact's bytes are not those that the checksum file names.
    Mismatched(String),
    /// An artifact is not one library in a sound tarball.
    Unsound(String, String),
    /// The table has an artifact that the checksum file does not list.
    Unlisted(String),
    /// The checksum file lists an artifact that the table does not have.
    Unknown(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(formatter, "missing: {name}"),
            Self::Extra(name) => write!(formatter, "extra: {name}"),
            Self::Mismatched(name) => write!(formatter, "mismatched: {name}"),
            Self::Unsound(name, reason) => write!(formatter, "unsound: {name}: {reason}"),
            Self::Unlisted(name) => {
                write!(formatter, "not in the checksum file: {name}")
            }
            Self::Unknown(name) => write!(formatter, "not in the table of targets: {name}"),
        }
    }
}

/// Compares the artifacts' bytes with the checksum file.
pub fn artifacts(artifacts: &BTreeMap<String, Vec<u8>>, checksums: &Checksums) -> Vec<Fault> {
    let mut faults: Vec<_> = checksums
        .names()
        .filter(|name| !artifacts.contains_key(*name))
        .map(|name| Fault::Missing(name.to_owned()))
        .collect();
    for (name, bytes) in artifacts {
        match checksums.get(name) {
            None => faults.push(Fault::Extra(name.clone())),
            Some(expected) if expected != checksum(bytes) => {
                faults.push(Fault::Mismatched(name.clone()));
            }
            Some(_) => {
                if let Err(error) = archive::unpack(name, bytes) {
                    faults.push(Fault::Unsound(name.clone(), format!("{error:#}")));
                }
            }
        }
    }
    faults
}

/// Compares the checksum file with all that the table has.
pub fn table(expected: &BTreeSet<String>, checksums: &Checksums) -> Vec<Fault> {
    let unlisted = expected
        .iter()
        .filter(|name| checksums.get(name).is_none())
        .map(|name| Fault::Unlisted(name.clone()));
    let unknown = checksums
        .names()
        .filter(|name| !expected.contains(*name))
        .map(|name| Fault::Unknown(name.to_owned()));
    unlisted.chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(letter: char) -> String {
        format!("lib{letter}.so.tar.gz")
    }

    #[test]
    fn each_kind_of_fault_is_found() {
        let mut files = BTreeMap::new();
        let mut checksums = Checksums::default();
        for letter in ['a', 'b', 'c', 'd'] {
            let bytes = archive::pack(&name(letter), b"library").unwrap();
            checksums.add(&name(letter), checksum(&bytes), false).unwrap();
            files.insert(name(letter), bytes);
        }
        assert_eq!(artifacts(&files, &checksums), []);

        files.remove(&name('a'));
        files.get_mut(&name('b')).unwrap()[20] ^= 1;
        files.insert(name('e'), Vec::new());
        let garbage = b"no tarball".to_vec();
        checksums.add(&name('d'), checksum(&garbage), true).unwrap();
        files.insert(name('d'), garbage);

        let faults = artifacts(&files, &checksums);
        assert_eq!(faults[0], Fault::Missing(name('a')));
        assert_eq!(faults[1], Fault::Mismatched(name('b')));
        assert!(matches!(&faults[2], Fault::Unsound(which, _) if *which == name('d')));
        assert_eq!(faults[3], Fault::Extra(name('e')));
        assert_eq!(faults.len(), 4);
    }

    #[test]
    fn the_table_and_the_checksum_file_must_be_equal() {
        let expected = BTreeSet::from([name('a'), name('b')]);
        let mut checksums = Checksums::default();
        checksums.add(&name('b'), checksum(b""), false).unwrap();
        checksums.add(&name('c'), checksum(b""), false).unwrap();
        assert_eq!(
            table(&expected, &checksums),
            [Fault::Unlisted(name('a')), Fault::Unknown(name('c'))]
        );
    }
}

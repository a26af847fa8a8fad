//! Artifacts: one library in a tarball, written so that the same library always
//! gives the same bytes, and read without trusting what is in it.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};
use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use tar::{Archive, Builder, EntryType, Header};

const SUFFIX: &str = ".tar.gz";

/// gzip's own value for a system that is not told.
const UNKNOWN_SYSTEM: u8 = 255;

/// A library larger than this is no library of ours.
const LARGEST_LIBRARY: u64 = 1 << 30;

/// The name of the library inside the artifact `name`.
pub fn library_name(name: &str) -> Result<&str> {
    name.strip_suffix(SUFFIX).with_context(|| format!("{name} does not end in {SUFFIX}"))
}

/// Packs `library` as the artifact `name`.
pub fn pack(name: &str, library: &[u8]) -> Result<Vec<u8>> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_size(library.len() as u64);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);

    let gzip = GzBuilder::new()
        .mtime(0)
        .operating_system(UNKNOWN_SYSTEM)
        .write(Vec::new(), Compression::best());
    let mut tarball = Builder::new(gzip);
    tarball.append_data(&mut header, library_name(name)?, library)?;
    Ok(tarball.into_inner()?.finish()?)
}

/// Takes the library out of the bytes of the artifact `name`, which may be hostile.
pub fn unpack(name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    unpack_at_most(name, bytes, LARGEST_LIBRARY)
}

fn unpack_at_most(name: &str, bytes: &[u8], largest: u64) -> Result<Vec<u8>> {
    let expected = library_name(name)?;
    // Room for the headers and the padding around the one file. One byte over
    // tells a bomb from a tarball that just fits.
    let mut tarball = Vec::new();
    let room = largest + 64 * 1024;
    let mut gzip = GzDecoder::new(bytes);
    gzip.by_ref().take(room + 1).read_to_end(&mut tarball).context("not a whole gzip file")?;
    ensure!(tarball.len() as u64 <= room, "unpacks to over {largest} bytes");
    ensure!(gzip.into_inner().is_empty(), "something follows the gzip data");

    let mut library = None;
    for entry in Archive::new(tarball.as_slice()).entries().context("not a tarball")? {
        let mut entry = entry.context("not a whole tarball")?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        ensure!(kind == EntryType::Regular, "{path:?} is not a plain file");
        ensure!(path == expected, "holds {path:?}, not {expected:?}");
        if library.is_some() {
            bail!("holds {path:?} twice");
        }
        let size = entry.size();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        ensure!(
            content.len() as u64 == size,
            "{path:?} is cut short: {} of {size} bytes",
            content.len()
        );
        library = Some(content);
    }
    library.with_context(|| format!("does not hold {expected:?}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    const NAME: &str = "libex_burn_nif-v1-nif-2.15-a.so.tar.gz";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = GzBuilder::new().write(Vec::new(), Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    }

    /// A tarball of entries whose paths are written as they are, safe or not.
    fn tarball(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, kind, content) in entries {
            let mut header = Header::new_ustar();
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            if kind.is_symlink() || kind.is_hard_link() {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn refusal(bytes: &[u8]) -> String {
        format!("{:#}", unpack_at_most(NAME, bytes, 1 << 20).unwrap_err())
    }

    fn inner() -> &'static str {
        library_name(NAME).unwrap()
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        for library in [&b""[..], b"x", &[7; 100_000]] {
            let packed = pack(NAME, library).unwrap();
            assert_eq!(unpack(NAME, &packed).unwrap(), library);
        }
    }

    #[test]
    fn the_same_library_gives_the_same_bytes() {
        let library: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        assert_eq!(pack(NAME, &library).unwrap(), pack(NAME, &library).unwrap());
    }

    #[test]
    fn nothing_of_the_machine_is_packed() {
        let packed = pack(NAME, b"library").unwrap();
        let mut tarball = Vec::new();
        GzDecoder::new(packed.as_slice()).read_to_end(&mut tarball).unwrap();
        let mut archive = Archive::new(tarball.as_slice());
        let entry = archive.entries().unwrap().next().unwrap().unwrap();
        let header = entry.header();
        assert_eq!(header.mtime().unwrap(), 0);
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        assert_eq!(header.mode().unwrap(), 0o644);
        assert_eq!(&packed[4..10], &[0, 0, 0, 0, 2, UNKNOWN_SYSTEM]);
    }

    #[test]
    fn a_path_that_leaves_the_folder_is_refused() {
        for path in ["../evil.so", "/etc/evil.so", "a/../../evil.so", "other.so"] {
            let bytes = gzip(&tarball(&[(path, EntryType::Regular, b"x")]));
            assert!(refusal(&bytes).contains("holds"), "{path}");
        }
    }

    #[test]
    fn anything_but_one_plain_file_is_refused() {
        for kind in [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Directory,
            EntryType::Fifo,
            EntryType::Char,
        ] {
            let bytes = gzip(&tarball(&[(inner(), kind, b"")]));
            assert!(refusal(&bytes).contains("plain file"), "{kind:?}");
        }
        let file = (inner(), EntryType::Regular, &b"x"[..]);
        assert!(refusal(&gzip(&tarball(&[file, file]))).contains("twice"));
        assert!(refusal(&gzip(&tarball(&[]))).contains("does not hold"));
    }

    #[test]
    fn a_bomb_is_refused_before_it_fills_the_memory() {
        let bytes = gzip(&vec![0; 8 << 20]);
        assert!(bytes.len() < 1 << 20, "it is larger than what it may unpack to");
        assert!(refusal(&bytes).contains("unpacks to over"));
    }

    #[test]
    fn a_file_that_claims_more_than_it_holds_is_refused() {
        let mut whole = tarball(&[(inner(), EntryType::Regular, &[1; 2000])]);
        whole.truncate(1024);
        assert!(!refusal(&gzip(&whole)).is_empty());
    }

    #[test]
    fn what_follows_the_data_is_refused() {
        let mut bytes = pack(NAME, b"library").unwrap();
        bytes.extend_from_slice(b"more");
        assert!(refusal(&bytes).contains("follows"));
    }

    #[test]
    fn a_file_cut_anywhere_is_refused() {
        let packed = pack(NAME, b"a small library").unwrap();
        for length in 0..packed.len() {
            refusal(&packed[..length]);
        }
    }

    /// A changed byte may not matter (in the gzip header, say), but it never
    /// gives another library.
    #[test]
    fn a_changed_byte_never_gives_another_library() {
        let library = b"a small library";
        let packed = pack(NAME, library).unwrap();
        for index in 0..packed.len() {
            for flip in [1, 0x80, 0xff] {
                let mut changed = packed.clone();
                changed[index] ^= flip;
                if let Ok(read) = unpack_at_most(NAME, &changed, 1 << 20) {
                    assert_eq!(read, library);
                }
            }
        }
    }

    /// Paths, kinds and contents that a tarball of ours could have, or one that
    /// was made to harm.
    fn entries() -> impl Strategy<Value = Vec<(String, u8, Vec<u8>)>> {
        let path = prop_oneof![
            3 => Just(inner().to_owned()),
            1 => Just(format!("../{}", inner())),
            1 => Just(format!("./{}", inner())),
            1 => "[a-z./]{1,40}",
        ];
        let kind =
            prop_oneof![3 => Just(b'0'), 1 => prop::sample::select(&b"\x001234567xgKLS"[..])];
        let content = prop::collection::vec(any::<u8>(), 0..2000);
        prop::collection::vec((path, kind, content), 0..4)
    }

    proptest! {
        /// Whatever the entries are: the one library in it comes out, or nothing.
        #[test]
        fn hostile_entries_give_the_library_or_nothing(entries in entries()) {
            let raw: Vec<_> = entries
                .iter()
                .map(|(path, kind, content)| {
                    (path.as_str(), EntryType::new(*kind), content.as_slice())
                })
                .collect();
            if let Ok(library) = unpack_at_most(NAME, &gzip(&tarball(&raw)), 1 << 20) {
                let known = entries.iter().any(|(_, _, content)| *content == library);
                prop_assert!(known, "what came out was never put in");
                let files = entries.iter().filter(|(_, kind, _)| matches!(kind, b'0' | 0));
                prop_assert_eq!(files.count(), 1);
            }
        }

        /// Bytes that only begin like a tarball never panic and never fill the memory.
        #[test]
        fn hostile_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
            prop_assert!(unpack_at_most(NAME, &gzip(&bytes), 1 << 20).is_err());
            prop_assert!(unpack_at_most(NAME, &bytes, 1 << 20).is_err());
        }
    }
}

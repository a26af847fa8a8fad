//! What a built library asks of the system that loads it, and whether its target has that.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, Result, bail};
use goblin::Object;
use goblin::archive::Archive;
use goblin::elf::{Elf, header as elf};
use goblin::mach::constants::cputype;
use goblin::mach::load_command::CommandVariant;
use goblin::mach::{Mach, MachO};
use goblin::pe::{PE, header as pe};

use crate::targets::{Build, CRATE, Kind, Oldest, Version};

/// What the BEAM calls in a library that it loads.
const INIT: &str = "nif_init";

/// What may be linked with on Linux and Android: the C library's parts and the
/// unwinder, which every system has. A driver must be looked for at run time,
/// or the library doesn't load where it is missing.
const UNIX_LIBRARIES: [&str; 9] =
    ["libc", "libm", "libdl", "libpthread", "librt", "libgcc_s", "liblog", "ld-linux", "ld-musl"];

/// The folders of Apple's own libraries.
const APPLE_FOLDERS: [&str; 2] = ["/usr/lib/", "/System/Library/"];

/// What a library tells about itself.
#[derive(Debug, Eq, PartialEq)]
pub struct Library {
    format: Format,
    machine: Option<Machine>,
    /// Shared libraries that are loaded with it.
    needs: Vec<String>,
    /// The newest glibc whose symbols it uses.
    glibc: Option<Version>,
    /// Symbol versions of glibc that have no number, such as `GLIBC_PRIVATE`.
    unnumbered: BTreeSet<String>,
    /// The oldest of Apple's systems that it was built for.
    apple: Option<Version>,
    /// The functions that it offers.
    symbols: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    Elf,
    MachO,
    Pe,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Machine {
    X86_64,
    Aarch64,
}

impl Library {
    /// Reads a library's bytes.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        match Object::parse(bytes)? {
            Object::Elf(elf) => Ok(Self::elf(&elf)),
            Object::Mach(Mach::Binary(mach)) => Self::mach(&mach),
            Object::PE(pe) => Ok(Self::pe(&pe)),
            Object::Archive(archive) => Self::archive(&archive, bytes),
            _ => bail!("it is no library of a known format"),
        }
    }

    fn new(format: Format, machine: Option<Machine>) -> Self {
        Self {
            format,
            machine,
            needs: Vec::new(),
            glibc: None,
            unnumbered: BTreeSet::new(),
            apple: None,
            symbols: BTreeSet::new(),
        }
    }

    fn elf(elf: &Elf<'_>) -> Self {
        let machine = match elf.header.e_machine {
            elf::EM_X86_64 => Some(Machine::X86_64),
            elf::EM_AARCH64 => Some(Machine::Aarch64),
            _ => None,
        };
        let mut library = Self::new(Format::Elf, machine);
        library.needs = elf.libraries.iter().map(|&name| name.to_owned()).collect();
        for need in elf.verneed.iter().flatten() {
            for version in need.iter() {
                let name = elf.dynstrtab.get_at(version.vna_name).unwrap_or_default();
                match name.strip_prefix("GLIBC_").map(str::parse) {
                    None => {}
                    Some(Ok(version)) => library.glibc = library.glibc.max(Some(version)),
                    Some(Err(_)) => {
                        library.unnumbered.insert(name.to_owned());
                    }
                }
            }
        }
        library.symbols = elf
            .dynsyms
            .iter()
            .filter(|symbol| symbol.is_function() && !symbol.is_import())
            .filter_map(|symbol| elf.dynstrtab.get_at(symbol.st_name))
            .map(str::to_owned)
            .collect();
        library
    }

    fn mach(mach: &MachO<'_>) -> Result<Self> {
        let machine = match mach.header.cputype {
            cputype::CPU_TYPE_X86_64 => Some(Machine::X86_64),
            cputype::CPU_TYPE_ARM64 => Some(Machine::Aarch64),
            _ => None,
        };
        let mut library = Self::new(Format::MachO, machine);
        // The first is the library itself.
        library.needs = mach.libs.iter().skip(1).map(|&name| name.to_owned()).collect();
        library.apple = mach.load_commands.iter().find_map(|command| match &command.command {
            CommandVariant::BuildVersion(version) => Some(apple_version(version.minos)),
            CommandVariant::VersionMinMacosx(version)
            | CommandVariant::VersionMinIphoneos(version) => Some(apple_version(version.version)),
            _ => None,
        });
        let exports = mach.exports()?;
        library.symbols = exports.iter().map(|export| plain(&export.name)).collect();
        Ok(library)
    }

    fn pe(pe: &PE<'_>) -> Self {
        let machine = match pe.header.coff_header.machine {
            pe::COFF_MACHINE_X86_64 => Some(Machine::X86_64),
            pe::COFF_MACHINE_ARM64 => Some(Machine::Aarch64),
            _ => None,
        };
        let mut library = Self::new(Format::Pe, machine);
        library.needs = pe.libraries.iter().map(|&name| name.to_owned()).collect();
        library.symbols =
            pe.exports.iter().filter_map(|export| export.name).map(str::to_owned).collect();
        library
    }

    /// A static library: its symbols, and the rest from one of its members.
    fn archive(archive: &Archive<'_>, bytes: &[u8]) -> Result<Self> {
        let first = archive
            .members()
            .into_iter()
            .find_map(|member| Self::read(archive.extract(member, bytes).ok()?).ok())
            .context("the archive holds no object file")?;
        let symbols = archive.summarize().into_iter().flat_map(|(_, _, symbols)| symbols);
        Ok(Self { symbols: symbols.map(plain).collect(), ..first })
    }

    /// What keeps the library from being what `build` says, or from loading on
    /// the oldest systems.
    pub fn faults(&self, build: &Build, oldest: &Oldest) -> Vec<String> {
        let target = &build.target;
        let mut faults = Vec::new();

        let (format, machine) = expected(target);
        if self.format != format || self.machine != machine {
            faults.push(format!("is {self}, not a library for {target}"));
        }

        let init = init(build.kind);
        if !self.symbols.contains(&init) {
            faults.push(format!("has no function {init}"));
        }

        if let Some(glibc) = self.glibc
            && (glibc > oldest.glibc || !target.contains("gnu"))
        {
            faults.push(format!("needs glibc {glibc}, over {}", oldest.glibc));
        }
        for name in &self.unnumbered {
            faults.push(format!("needs {name}, which not every glibc has"));
        }

        let supported = if target.contains("ios") { oldest.ios } else { oldest.macos };
        if let Some(apple) = self.apple
            && apple > supported
        {
            faults.push(format!("needs version {apple} of the system, over {supported}"));
        }

        for name in self.needs.iter().filter(|name| !self.is_everywhere(name)) {
            faults.push(format!("is linked with {name}, which not every system has"));
        }
        faults
    }

    fn is_everywhere(&self, name: &str) -> bool {
        match self.format {
            Format::Elf => UNIX_LIBRARIES.iter().any(|known| {
                name.strip_prefix(known).is_some_and(|rest| rest.starts_with(['.', '-']))
            }),
            Format::MachO => APPLE_FOLDERS.iter().any(|folder| name.starts_with(folder)),
            // Windows has no folder or name to tell its own by.
            Format::Pe => true,
        }
    }
}

/// Format and machine, on one line.
impl fmt::Display for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let machine = match self.machine {
            Some(Machine::X86_64) => "x86-64",
            Some(Machine::Aarch64) => "AArch64",
            None => "another machine",
        };
        let format = match self.format {
            Format::Elf => "ELF",
            Format::MachO => "Mach-O",
            Format::Pe => "PE",
        };
        write!(formatter, "{format} for {machine}")
    }
}

impl Library {
    /// All that is known, one fact a line.
    pub fn report(&self, kind: Kind) -> String {
        let mut lines = vec![format!("format  {self}")];
        if let Some(glibc) = self.glibc {
            lines.push(format!("glibc   {glibc}"));
        }
        if let Some(apple) = self.apple {
            lines.push(format!("system  {apple}"));
        }
        if !self.needs.is_empty() {
            lines.push(format!("needs   {}", self.needs.join(", ")));
        }
        let init = init(kind);
        if self.symbols.contains(&init) {
            lines.push(format!("starts  {init}"));
        }
        lines.join("\n")
    }
}

/// The function that starts the NIF. One that is linked into an app shares its
/// names with all other NIFs there, so it has the crate's name in front.
fn init(kind: Kind) -> String {
    match kind {
        Kind::Cdylib => INIT.to_owned(),
        Kind::Staticlib => format!("{CRATE}_{INIT}"),
    }
}

fn expected(target: &str) -> (Format, Option<Machine>) {
    let format = if target.contains("apple") {
        Format::MachO
    } else if target.contains("windows") {
        Format::Pe
    } else {
        Format::Elf
    };
    let machine = match target.split('-').next() {
        Some("x86_64") => Some(Machine::X86_64),
        Some("aarch64") => Some(Machine::Aarch64),
        _ => None,
    };
    (format, machine)
}

/// Apple packs a version into 32 bits: xxxx.yy.zz.
fn apple_version(packed: u32) -> Version {
    Version(packed >> 16, (packed >> 8) & 0xff)
}

/// Apple's assemblers put an underscore before the names of C.
fn plain(symbol: impl AsRef<str>) -> String {
    let symbol = symbol.as_ref();
    symbol.strip_prefix('_').unwrap_or(symbol).to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::targets::Table;

    macro_rules! fixture {
        ($name:literal) => {
            read(include_bytes!(concat!("../tests/fixtures/", $name, ".gz")))
        };
    }

    fn read(packed: &[u8]) -> Library {
        let mut bytes = Vec::new();
        flate2::bufread::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
        Library::read(&bytes).unwrap()
    }

    fn faults(library: &Library, target: &str) -> Vec<String> {
        let table = Table::parse(include_str!("../../targets.toml")).unwrap();
        let build = table.select("0.7.0", target, None, None).unwrap();
        library.faults(&build, &table.oldest)
    }

    const GNU: &str = "x86_64-unknown-linux-gnu";

    #[test]
    fn a_library_for_its_target_has_no_fault() {
        for (library, target) in [
            (fixture!("linux-gnu.so"), GNU),
            (fixture!("linux-gnu-aarch64.so"), "aarch64-unknown-linux-gnu"),
            (fixture!("linux-musl.so"), "x86_64-unknown-linux-musl"),
            (fixture!("macos-12.dylib"), "aarch64-apple-darwin"),
            (fixture!("windows.dll"), "x86_64-pc-windows-msvc"),
            (fixture!("ios.a"), "aarch64-apple-ios"),
        ] {
            assert_eq!(faults(&library, target), [] as [&str; 0], "{target}");
        }
    }

    #[test]
    fn a_library_for_another_target_is_refused() {
        for (library, target) in [
            (fixture!("linux-gnu-aarch64.so"), GNU),
            (fixture!("macos-12.dylib"), GNU),
            (fixture!("windows.dll"), GNU),
            (fixture!("linux-gnu.so"), "aarch64-apple-darwin"),
            (fixture!("linux-gnu.so"), "aarch64-unknown-linux-gnu"),
        ] {
            let faults = faults(&library, target);
            assert!(faults[0].contains(&format!("not a library for {target}")), "{faults:?}");
        }
    }

    #[test]
    fn a_glibc_over_the_oldest_is_refused() {
        let library = fixture!("linux-gnu-2.34.so");
        assert_eq!(library.glibc, Some(Version(2, 34)));
        assert_eq!(faults(&library, GNU), ["needs glibc 2.34, over 2.31"]);
    }

    #[test]
    fn any_glibc_is_refused_where_there_is_none() {
        let faults = faults(&fixture!("linux-gnu.so"), "x86_64-unknown-linux-musl");
        assert!(faults[0].starts_with("needs glibc"), "{faults:?}");
    }

    #[test]
    fn a_system_over_the_oldest_is_refused() {
        let library = fixture!("macos-15.dylib");
        assert_eq!(
            faults(&library, "aarch64-apple-darwin"),
            ["needs version 15.0 of the system, over 12.0"]
        );
    }

    #[test]
    fn a_driver_that_is_linked_with_is_refused() {
        assert_eq!(
            faults(&fixture!("linux-gnu-driver.so"), GNU),
            ["is linked with libcuda.so.1, which not every system has"]
        );
    }

    #[test]
    fn a_library_that_does_not_start_is_refused() {
        assert_eq!(faults(&fixture!("linux-gnu-no-init.so"), GNU), ["has no function nif_init"]);
        let faults = faults(&fixture!("macos-12.dylib"), "aarch64-apple-ios");
        assert_eq!(faults, ["has no function ex_burn_nif_nif_init"]);
    }

    #[test]
    fn the_report_names_what_is_needed() {
        let report = fixture!("linux-gnu.so").report(Kind::Cdylib);
        assert!(report.starts_with("format  ELF for x86-64\nglibc   2."), "{report}");
        assert!(report.ends_with("\nneeds   libc.so.6\nstarts  nif_init"), "{report}");
    }

    #[test]
    fn what_is_no_library_is_refused() {
        for bytes in [&b""[..], b"a library", b"\x7fELF", b"!<arch>\n"] {
            assert!(Library::read(bytes).is_err(), "{bytes:?}");
        }
    }
}

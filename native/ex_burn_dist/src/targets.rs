//! The table of targets, and the artifacts that follow from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// The crate that becomes the library.
pub const CRATE: &str = "ex_burn_nif";

/// What `native/targets.toml` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    nif_versions: Vec<String>,
    /// The oldest systems that an artifact loads on.
    pub oldest: Oldest,
    /// The cargo features of each variant.
    variants: BTreeMap<String, Vec<String>>,
    #[serde(rename = "target")]
    targets: Vec<Target>,
}

/// The oldest versions of what an artifact needs from a system.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oldest {
    /// The C library of the `linux-gnu` targets.
    pub glibc: Version,
    /// macOS.
    pub macos: Version,
    /// iOS.
    pub ios: Version,
}

/// Major and minor version.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(try_from = "String")]
pub struct Version(pub u32, pub u32);

impl FromStr for Version {
    type Err = anyhow::Error;

    /// Whatever follows the minor version is left out; a missing one is 0.
    fn from_str(text: &str) -> Result<Self> {
        let mut numbers = text.split('.').map(str::parse);
        match (numbers.next(), numbers.next().unwrap_or(Ok(0))) {
            (Some(Ok(major)), Ok(minor)) => Ok(Self(major, minor)),
            _ => bail!("{text:?} is not a version such as \"2.31\""),
        }
    }
}

impl TryFrom<String> for Version {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.0, self.1)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    triple: String,
    runner: String,
    cross: bool,
    variants: Vec<String>,
    kind: Kind,
}

/// How the library reaches the BEAM; named as cargo names its crate types.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Loaded at run time.
    Cdylib,
    /// Linked into an app.
    Staticlib,
}

impl Kind {
    /// Cargo's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cdylib => "cdylib",
            Self::Staticlib => "staticlib",
        }
    }
}

/// One build of the CI matrix, which gives one artifact.
#[derive(Debug, Serialize)]
pub struct Build {
    /// The target triple.
    pub target: String,
    /// The machine of the CI that builds it.
    pub runner: String,
    /// Whether `cross` builds it.
    pub cross: bool,
    /// The variant's name, also of a base variant.
    pub variant: String,
    /// Cargo features, joined by commas.
    pub features: String,
    /// Cargo's crate type.
    pub kind: Kind,
    /// The NIF version that the library asks for.
    pub nif_version: String,
    /// The file that cargo leaves in its target folder.
    pub library: String,
    /// The name of the packed artifact.
    pub artifact: String,
}

impl Table {
    /// Reads and checks the table.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("can't read the table of targets {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    /// Checks the table in `text`.
    pub fn parse(text: &str) -> Result<Self> {
        let table: Self = toml::from_str(text)?;
        ensure!(!table.nif_versions.is_empty(), "nif_versions is empty");
        let mut seen = BTreeSet::new();
        for Target { triple, variants, .. } in &table.targets {
            ensure!(seen.insert(triple), "target {triple} is listed twice");
            ensure!(!variants.is_empty(), "target {triple} has no variant");
            for variant in variants {
                ensure!(
                    table.variants.contains_key(variant),
                    "target {triple} names the unknown variant {variant}"
                );
            }
        }
        Ok(table)
    }

    /// Every build, in the table's order.
    pub fn builds(&self, version: &str) -> Vec<Build> {
        let mut builds = Vec::new();
        for target in &self.targets {
            for nif_version in &self.nif_versions {
                for variant in &target.variants {
                    builds.push(self.build(target, nif_version, variant, version));
                }
            }
        }
        builds
    }

    /// The build of a target: of its base and for the oldest NIF version, unless others are given.
    pub fn select(
        &self,
        version: &str,
        triple: &str,
        variant: Option<&str>,
        nif_version: Option<&str>,
    ) -> Result<Build> {
        let Some(target) = self.targets.iter().find(|target| target.triple == triple) else {
            let known: Vec<_> = self.targets.iter().map(|t| t.triple.as_str()).collect();
            bail!("target {triple} is none of {}", known.join(", "));
        };
        let variant = variant.unwrap_or(&target.variants[0]);
        ensure!(
            target.variants.iter().any(|known| known == variant),
            "target {triple} has no variant {variant}, only {}",
            target.variants.join(", ")
        );
        let nif_version = nif_version.unwrap_or(&self.nif_versions[0]);
        ensure!(
            self.nif_versions.iter().any(|known| known == nif_version),
            "NIF version {nif_version} is none of {}",
            self.nif_versions.join(", ")
        );
        Ok(self.build(target, nif_version, variant, version))
    }

    fn build(&self, target: &Target, nif_version: &str, variant: &str, version: &str) -> Build {
        let triple = &target.triple;
        let windows = triple.contains("windows");
        let prefix = if windows { "" } else { "lib" };
        let suffix =
            if variant == target.variants[0] { String::new() } else { format!("--{variant}") };
        let (built, packed) = match target.kind {
            Kind::Staticlib => ("a", "a"),
            Kind::Cdylib if windows => ("dll", "dll"),
            // The BEAM looks for .so on Apple's systems too.
            Kind::Cdylib if triple.contains("apple") => ("dylib", "so"),
            Kind::Cdylib => ("so", "so"),
        };
        Build {
            target: triple.clone(),
            runner: target.runner.clone(),
            cross: target.cross,
            variant: variant.to_owned(),
            features: self.variants[variant].join(","),
            kind: target.kind,
            nif_version: nif_version.to_owned(),
            library: format!("{prefix}{CRATE}.{built}"),
            artifact: format!(
                "{prefix}{CRATE}-v{version}-nif-{nif_version}-{triple}{suffix}.{packed}.tar.gz"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped() -> Table {
        Table::parse(include_str!("../../targets.toml")).unwrap()
    }

    fn artifacts(version: &str) -> Vec<String> {
        shipped().builds(version).into_iter().map(|build| build.artifact).collect()
    }

    #[test]
    fn the_base_variant_has_no_suffix_and_the_others_have() {
        let artifacts = artifacts("0.7.0");
        for name in [
            "libex_burn_nif-v0.7.0-nif-2.15-x86_64-unknown-linux-gnu.so.tar.gz",
            "libex_burn_nif-v0.7.0-nif-2.15-x86_64-unknown-linux-gnu--cuda.so.tar.gz",
            "libex_burn_nif-v0.7.0-nif-2.15-aarch64-apple-darwin.so.tar.gz",
            "ex_burn_nif-v0.7.0-nif-2.15-x86_64-pc-windows-msvc--vulkan.dll.tar.gz",
            "libex_burn_nif-v0.7.0-nif-2.15-aarch64-apple-ios.a.tar.gz",
        ] {
            assert!(artifacts.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn a_pre_release_version_stays_whole() {
        assert!(
            artifacts("0.1.0-rc.1").contains(
                &"libex_burn_nif-v0.1.0-rc.1-nif-2.15-x86_64-unknown-linux-gnu--cuda.so.tar.gz"
                    .to_owned()
            )
        );
    }

    #[test]
    fn every_artifact_has_its_own_name() {
        let artifacts = artifacts("0.7.0");
        let unique: BTreeSet<_> = artifacts.iter().collect();
        assert_eq!(unique.len(), artifacts.len());
    }

    #[test]
    fn an_unknown_target_or_variant_is_named() {
        let error = |target, variant| {
            shipped().select("0.7.0", target, variant, None).unwrap_err().to_string()
        };
        assert!(error("riscv64gc-unknown-linux-gnu", None).contains("riscv64gc"));
        assert!(error("x86_64-unknown-linux-musl", Some("cuda")).contains("only cpu"));
    }

    #[test]
    fn a_table_with_a_fault_is_refused() {
        let target = |triple: &str, variants: &str| {
            format!(
                "[[target]]\ntriple = \"{triple}\"\nrunner = \"r\"\ncross = false\n\
                 variants = [{variants}]\nkind = \"cdylib\"\n"
            )
        };
        let head = "nif_versions = [\"2.15\"]\n\
                    [oldest]\nglibc = \"2.31\"\nmacos = \"12.0\"\nios = \"15.0\"\n\
                    [variants]\ncpu = []\n";
        let error = |body: String| Table::parse(&format!("{head}{body}")).unwrap_err().to_string();
        assert!(error(target("a", "\"gpu\"")).contains("unknown variant gpu"));
        assert!(error(target("a", "")).contains("no variant"));
        assert!(error(target("a", "\"cpu\"") + &target("a", "\"cpu\"")).contains("twice"));
        assert!(error("[[target]]\ntripel = \"a\"\n".to_owned()).contains("tripel"));
    }

    #[test]
    fn versions_compare_by_number() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        assert!(version("2.4") < version("2.31"));
        assert!(version("2.2.5") < version("2.3"));
        assert_eq!(version("12"), version("12.0"));
        for text in ["", "PRIVATE", "2.x"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    /// The version is written once for cargo and once for Mix.
    #[test]
    fn cargo_and_mix_agree_on_the_version() {
        let mix = include_str!("../../../mix.exs");
        let line = format!("@version \"{}\"", env!("CARGO_PKG_VERSION"));
        assert!(mix.contains(&line), "mix.exs does not say {line}");
    }
}

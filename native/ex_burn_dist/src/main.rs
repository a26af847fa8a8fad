//! ExBurn's release tool: lists what is to be built, builds, packs and inspects
//! it, and keeps the checksum file that the Elixir loader trusts. It needs no
//! Elixir.

#![deny(unsafe_code)]

mod archive;
mod checksums;
mod compile;
mod components;
mod inspect;
mod targets;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};

use checksums::Checksums;
use compile::Compiler;
use inspect::Library;
use targets::{Build, Table};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const CHECKSUM_FILE: &str = "checksum-Elixir.ExBurn.Nif.exs";
const LOCK_FILE: &str = "Cargo.lock";

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    /// The table of targets.
    #[arg(long, global = true, default_value = "native/targets.toml")]
    targets: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints every build as JSON, ready for a GitHub Actions matrix.
    Matrix,
    /// Compiles, packs and inspects a library, and prints its artifact's path.
    Build(BuildArguments),
    /// Packs a built library into its artifact, and prints the artifact's path.
    Pack(Pack),
    /// Tells what artifacts ask of a system; refuses those that ask too much.
    Inspect(Paths),
    /// Writes the artifacts' checksums into the checksum file.
    Checksum(Checksum),
    /// Holds artifacts to the checksum file; any difference is an error.
    Verify(Verify),
    /// Prints the crates that go into an artifact, as a CycloneDX bill of materials.
    Sbom(Selection),
    /// Prints the crates that go into an artifact, by licence.
    Licences(Selection),
}

/// One artifact of the table.
#[derive(Args)]
struct Selection {
    /// The target triple.
    #[arg(long)]
    target: String,
    /// The variant; the target's base without this.
    #[arg(long)]
    variant: Option<String>,
    /// The NIF version; the table's oldest without this.
    #[arg(long)]
    nif_version: Option<String>,
}

impl Selection {
    fn build(&self, table: &Table) -> Result<Build> {
        table.select(VERSION, &self.target, self.variant.as_deref(), self.nif_version.as_deref())
    }
}

#[derive(Args)]
struct BuildArguments {
    #[command(flatten)]
    selection: Selection,
    /// What compiles.
    #[arg(long, value_enum, default_value = "cargo")]
    with: Compiler,
    /// The folder that receives the artifact.
    #[arg(long, default_value = "dist")]
    output: PathBuf,
}

#[derive(Args)]
struct Pack {
    #[command(flatten)]
    selection: Selection,
    /// The folder that receives the artifact.
    #[arg(long, default_value = "dist")]
    output: PathBuf,
    /// The library that cargo built.
    library: PathBuf,
}

#[derive(Args)]
struct Paths {
    /// Artifacts, or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

#[derive(Args)]
struct Checksum {
    /// The checksum file.
    #[arg(long, default_value = CHECKSUM_FILE)]
    file: PathBuf,
    /// Accept other bytes for an artifact that the file already lists.
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    artifacts: Paths,
}

#[derive(Args)]
struct Verify {
    /// The checksum file.
    #[arg(long, default_value = CHECKSUM_FILE)]
    file: PathBuf,
    /// Demand all that the table of targets has.
    #[arg(long)]
    complete: bool,
    #[command(flatten)]
    artifacts: Paths,
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode> {
    let table = Table::read(&cli.targets)?;
    match cli.command {
        Command::Matrix => matrix(&table),
        Command::Build(arguments) => build(&table, &arguments),
        Command::Pack(arguments) => pack(&table, &arguments),
        Command::Inspect(arguments) => inspect(&table, &arguments),
        Command::Checksum(arguments) => checksum(&table, &arguments),
        Command::Verify(arguments) => verify(&table, &arguments),
        Command::Sbom(arguments) => sbom(&table, &arguments),
        Command::Licences(arguments) => licences(&table, &arguments),
    }
}

fn matrix(table: &Table) -> Result<ExitCode> {
    let matrix = BTreeMap::from([("include", table.builds(VERSION))]);
    println!("{}", serde_json::to_string(&matrix)?);
    Ok(ExitCode::SUCCESS)
}

fn build(table: &Table, arguments: &BuildArguments) -> Result<ExitCode> {
    let build = arguments.selection.build(table)?;
    let library = compile::compile(&build, &table.oldest, arguments.with)?;
    let path = pack_library(&build, &library, &arguments.output)?;
    report(inspect_artifact(table, &build, &path)?)
}

fn pack(table: &Table, arguments: &Pack) -> Result<ExitCode> {
    let build = arguments.selection.build(table)?;
    pack_library(&build, &arguments.library, &arguments.output)?;
    Ok(ExitCode::SUCCESS)
}

fn pack_library(build: &Build, library: &Path, folder: &Path) -> Result<PathBuf> {
    let library = read(library)?;
    std::fs::create_dir_all(folder)
        .with_context(|| format!("can't make the folder {}", folder.display()))?;
    let path = folder.join(&build.artifact);
    write(&path, &archive::pack(&build.artifact, &library)?)?;
    println!("{}", path.display());
    Ok(path)
}

fn inspect(table: &Table, arguments: &Paths) -> Result<ExitCode> {
    let builds = table.builds(VERSION);
    let mut faults = Vec::new();
    for path in artifact_files(&arguments.paths)? {
        let name = file_name(&path);
        let build = builds.iter().find(|build| build.artifact == name);
        let build = build.with_context(|| no_such_artifact(&name))?;
        println!("{}", path.display());
        faults.extend(inspect_artifact(table, build, &path)?);
    }
    report(faults)
}

/// Prints what the artifact asks of a system, and returns what of that is too much.
fn inspect_artifact(table: &Table, build: &Build, path: &Path) -> Result<Vec<String>> {
    let name = &build.artifact;
    let packed = read(path)?;
    let bytes = archive::unpack(name, &packed).with_context(|| format!("in {name}"))?;
    let library = Library::read(&bytes).with_context(|| format!("in {name}"))?;
    println!("size    {} bytes, {} unpacked", packed.len(), bytes.len());
    println!("{}", library.report(build.kind));
    let faults = library.faults(build, &table.oldest);
    Ok(faults.into_iter().map(|fault| format!("{name} {fault}")).collect())
}

fn report(faults: Vec<impl std::fmt::Display>) -> Result<ExitCode> {
    for fault in &faults {
        eprintln!("{fault}");
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn sbom(table: &Table, selection: &Selection) -> Result<ExitCode> {
    let build = selection.build(table)?;
    let components = components::components(&build, Path::new(LOCK_FILE))?;
    let sbom = components::sbom(&build, VERSION, &components);
    println!("{}", serde_json::to_string_pretty(&sbom)?);
    Ok(ExitCode::SUCCESS)
}

fn licences(table: &Table, selection: &Selection) -> Result<ExitCode> {
    let components = components::components(&selection.build(table)?, Path::new(LOCK_FILE))?;
    print!("{}", components::licences(&components));
    Ok(ExitCode::SUCCESS)
}

fn checksum(table: &Table, arguments: &Checksum) -> Result<ExitCode> {
    let expected = artifact_names(table);
    let mut checksums = Checksums::read(&arguments.file)?;
    for stale in checksums.retain(|name| expected.contains(name)) {
        eprintln!("dropped, since version {VERSION} has no such artifact: {stale}");
    }
    for (name, bytes) in read_artifacts(&arguments.artifacts.paths)? {
        ensure!(expected.contains(&name), no_such_artifact(&name));
        checksums.add(&name, checksums::checksum(&bytes), arguments.replace)?;
    }
    write(&arguments.file, checksums.to_string().as_bytes())?;
    println!(
        "{}: {} of {} artifacts",
        arguments.file.display(),
        checksums.names().count(),
        expected.len()
    );
    Ok(ExitCode::SUCCESS)
}

fn verify(table: &Table, arguments: &Verify) -> Result<ExitCode> {
    let checksums = Checksums::read(&arguments.file)?;
    let artifacts = read_artifacts(&arguments.artifacts.paths)?;
    let mut faults = verify::artifacts(&artifacts, &checksums);
    if arguments.complete {
        faults.extend(verify::table(&artifact_names(table), &checksums));
    }
    if faults.is_empty() {
        println!("{} artifacts verified", artifacts.len());
    }
    report(faults)
}

fn no_such_artifact(name: &str) -> String {
    format!("version {VERSION} has no such artifact: {name}")
}

fn artifact_names(table: &Table) -> BTreeSet<String> {
    let builds = table.builds(VERSION);
    builds.into_iter().map(|Build { artifact, .. }| artifact).collect()
}

/// The bytes of every artifact that the paths name, or that lies in a folder
/// they name.
fn read_artifacts(paths: &[PathBuf]) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut artifacts = BTreeMap::new();
    for file in artifact_files(paths)? {
        let name = file_name(&file);
        let known = artifacts.insert(name.clone(), read(&file)?);
        ensure!(known.is_none(), "{name} is given twice");
    }
    Ok(artifacts)
}

fn artifact_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        for entry in path.read_dir()? {
            let file = entry?.path();
            if file.to_string_lossy().ends_with(".tar.gz") {
                files.push(file);
            }
        }
    }
    ensure!(!files.is_empty(), "no artifact was given");
    files.sort();
    Ok(files)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("can't read {}", path.display()))
}

/// Writes beside the file and then renames, so that no one sees half of it.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    std::fs::write(&beside, bytes)
        .and_then(|()| std::fs::rename(&beside, path))
        .with_context(|| format!("can't write {}", path.display()))
}

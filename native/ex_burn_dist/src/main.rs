//! ExBurn's release tool: lists what is to be built, packs it, and keeps the
//! checksum file that the Elixir loader trusts. It needs no Elixir.

#![deny(unsafe_code)]

mod archive;
mod checksums;
mod targets;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::{Args, Parser, Subcommand};

use checksums::Checksums;
use targets::{Build, Table};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const CHECKSUM_FILE: &str = "checksum-Elixir.ExBurn.Nif.exs";

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
    /// Packs a built library into its artifact, and prints the artifact's path.
    Pack(Pack),
    /// Writes the artifacts' checksums into the checksum file.
    Checksum(Checksum),
    /// Holds artifacts to the checksum file; any difference is an error.
    Verify(Verify),
}

#[derive(Args)]
struct Pack {
    /// The target triple that the library was built for.
    #[arg(long)]
    target: String,
    /// The variant that it was built as; the target's base without this.
    #[arg(long)]
    variant: Option<String>,
    /// The NIF version that it was built for; the table's oldest without this.
    #[arg(long)]
    nif_version: Option<String>,
    /// The folder that receives the artifact.
    #[arg(long, default_value = "dist")]
    output: PathBuf,
    /// The library that cargo built.
    library: PathBuf,
}

#[derive(Args)]
struct Checksum {
    /// The checksum file.
    #[arg(long, default_value = CHECKSUM_FILE)]
    file: PathBuf,
    /// Accept other bytes for an artifact that the file already lists.
    #[arg(long)]
    replace: bool,
    /// Artifacts, or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

#[derive(Args)]
struct Verify {
    /// The checksum file.
    #[arg(long, default_value = CHECKSUM_FILE)]
    file: PathBuf,
    /// Demand all that the table of targets has.
    #[arg(long)]
    complete: bool,
    /// Artifacts, or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
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
        Command::Pack(arguments) => pack(&table, &arguments),
        Command::Checksum(arguments) => checksum(&table, &arguments),
        Command::Verify(arguments) => verify(&table, &arguments),
    }
}

fn matrix(table: &Table) -> Result<ExitCode> {
    let matrix = BTreeMap::from([("include", table.builds(VERSION))]);
    println!("{}", serde_json::to_string(&matrix)?);
    Ok(ExitCode::SUCCESS)
}

fn pack(table: &Table, arguments: &Pack) -> Result<ExitCode> {
    let builds = table.select(VERSION, &arguments.target, arguments.variant.as_deref())?;
    let build = match &arguments.nif_version {
        None => &builds[0],
        Some(wanted) => builds
            .iter()
            .find(|build| build.nif_version == *wanted)
            .with_context(|| format!("the table has no NIF version {wanted}"))?,
    };
    let library = read(&arguments.library)?;
    std::fs::create_dir_all(&arguments.output)
        .with_context(|| format!("can't make the folder {}", arguments.output.display()))?;
    let path = arguments.output.join(&build.artifact);
    write(&path, &archive::pack(&build.artifact, &library)?)?;
    println!("{}", path.display());
    Ok(ExitCode::SUCCESS)
}

fn checksum(table: &Table, arguments: &Checksum) -> Result<ExitCode> {
    let expected = artifact_names(table);
    let mut checksums = Checksums::read(&arguments.file)?;
    for stale in checksums.retain(|name| expected.contains(name)) {
        eprintln!("dropped, since version {VERSION} has no such artifact: {stale}");
    }
    for (name, bytes) in read_artifacts(&arguments.paths)? {
        ensure!(expected.contains(&name), "version {VERSION} has no such artifact: {name}");
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
    let artifacts = read_artifacts(&arguments.paths)?;
    let mut faults = verify::artifacts(&artifacts, &checksums);
    if arguments.complete {
        faults.extend(verify::table(&artifact_names(table), &checksums));
    }
    for fault in &faults {
        eprintln!("{fault}");
    }
    if faults.is_empty() {
        println!("{} artifacts verified", artifacts.len());
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::FAILURE)
    }
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
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let bytes = read(&file)?;
        let known = artifacts.insert(name.clone().into_owned(), bytes);
        ensure!(known.is_none(), "{name} is given twice");
    }
    ensure!(!artifacts.is_empty(), "no artifact was given");
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
    Ok(files)
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

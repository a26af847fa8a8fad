//! The bundled handwritten digits.

use crate::Failure;
use ex_burn_engine::{Device, HostTensor, Tensor};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// The number of pixels of an image.
pub const PIXELS: usize = 64;
/// The number of digits.
pub const CLASSES: usize = 10;

/// An image and the digit it shows.
pub struct Example {
    /// From 0 to 1, row by row.
    pixels: Vec<f32>,
    /// The digit.
    pub label: usize,
}

/// All examples, in the order of the file.
pub fn load() -> Result<Vec<Example>, Failure> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../priv/data/digits.csv.gz");
    let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
    BufReader::new(GzDecoder::new(file)).lines().map(|line| parse(&line?)).collect()
}

/// A line: the pixels, from 0 to 16, then the digit.
fn parse(line: &str) -> Result<Example, Failure> {
    let fields: Result<Vec<u8>, _> = line.split(',').map(str::parse).collect();
    match fields?.split_last() {
        Some((&label, pixels)) if pixels.len() == PIXELS && usize::from(label) < CLASSES => {
            let pixels = pixels.iter().map(|&pixel| f32::from(pixel) / 16.0).collect();
            Ok(Example { pixels, label: label.into() })
        }
        _ => Err(format!("given {line:?}, expected {PIXELS} pixels and a digit").into()),
    }
}

/// The images as rows.
pub fn images(examples: &[&Example], device: Device) -> Result<Tensor, Failure> {
    let pixels = examples.iter().flat_map(|example| example.pixels.iter().copied()).collect();
    let tensor = HostTensor::from_vec::<f32>(pixels, &[examples.len(), PIXELS]);
    Ok(Tensor::from(tensor).to_device(device)?)
}

/// A row for each label, 1 at its digit and 0 elsewhere.
pub fn one_hot(examples: &[&Example], device: Device) -> Result<Tensor, Failure> {
    let row = |example: &&Example| {
        let label = example.label;
        (0..CLASSES).map(move |class| if class == label { 1.0 } else { 0.0 })
    };
    let rows = examples.iter().flat_map(row).collect();
    let tensor = HostTensor::from_vec::<f32>(rows, &[examples.len(), CLASSES]);
    Ok(Tensor::from(tensor).to_device(device)?)
}

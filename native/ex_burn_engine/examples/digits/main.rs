//! Trains a classifier on the bundled digits, through the engine alone:
//!
//! ```text
//! cargo run --release --example digits -p ex_burn_engine
//! ```

mod adam;
mod data;
mod formula;
mod network;
mod random;

use adam::Adam;
use data::{CLASSES, Example};
use ex_burn_engine::{Device, Tensor};
use random::Random;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

const EPOCHS: usize = 30;
const BATCH: usize = 32;
const SEED: u64 = 1;
/// The accuracy on images never seen below which something is wrong.
const REQUIRED: f64 = 0.96;

/// Whatever stops the training.
type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match run() {
        Ok(accuracy) if accuracy >= REQUIRED => ExitCode::SUCCESS,
        Ok(_) => {
            eprintln!("error: the test accuracy is below {REQUIRED}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Trains, reports, and returns the accuracy.
fn run() -> Result<f64, Failure> {
    let device = Device::available()[0];
    let mut random = Random::new(SEED);
    let examples = data::load()?;
    let mut examples: Vec<&Example> = examples.iter().collect();
    random.shuffle(&mut examples);
    let count = examples.len() * 8 / 10;
    let (train, test) = examples.split_at_mut(count);

    let start = Instant::now();
    let mut parameters = network::initial(&mut random, device)?;
    train_network(&mut parameters, train, &mut random, device)?;
    let seconds = start.elapsed().as_secs_f64();

    let answers = answers(parameters, test, device)?;
    let mut table = [[0; CLASSES]; CLASSES];
    for (example, answer) in test.iter().zip(answers) {
        table[example.label][answer] += 1;
    }
    Ok(report(device, seconds, &table))
}

fn train_network(
    parameters: &mut Vec<Tensor>,
    examples: &mut [&Example],
    random: &mut Random,
    device: Device,
) -> Result<(), Failure> {
    let loss = network::loss(BATCH)?;
    let mut optimizer = Adam::new(&network::shapes(), device)?;
    let by: Vec<usize> = (0..parameters.len()).collect();
    let steps = examples.len() / BATCH;
    for epoch in 0..EPOCHS {
        random.shuffle(examples);
        for (step, batch) in examples.chunks_exact(BATCH).enumerate() {
            let mut inputs = parameters.clone();
            inputs.extend([data::images(batch, device)?, data::one_hot(batch, device)?]);
            let result = loss.value_and_grad(&inputs, &by, device)?;
            *parameters = optimizer.step(std::mem::take(parameters), result.gradients)?;
            let loss = result.outputs[0].to_host()?.scalar::<f32>();
            progress(epoch, epoch * steps + step + 1, EPOCHS * steps, loss)?;
        }
    }
    Ok(())
}

/// The digit that the network sees in each image.
fn answers(
    mut parameters: Vec<Tensor>,
    examples: &[&Example],
    device: Device,
) -> Result<Vec<usize>, Failure> {
    parameters.push(data::images(examples, device)?);
    let answers = network::answers(examples.len())?.run(&parameters, device)?;
    let answers = answers[0].to_host()?;
    Ok(answers.elements::<i64>().iter().map(|&answer| answer as usize).collect())
}

fn progress(epoch: usize, done: usize, all: usize, loss: f32) -> Result<(), Failure> {
    const WIDTH: usize = 30;
    let filled = done * WIDTH / all;
    let bar = "█".repeat(filled) + &"░".repeat(WIDTH - filled);
    let mut output = std::io::stdout().lock();
    write!(output, "\r{bar} epoch {}/{EPOCHS}  loss {loss:.4}    ", epoch + 1)?;
    output.flush()?;
    Ok(())
}

/// Prints what came of the training, and returns the accuracy.
///
/// The table has a row for each digit and a column for each answer.
fn report(device: Device, seconds: f64, table: &[[usize; CLASSES]; CLASSES]) -> f64 {
    let all: usize = table.as_flattened().iter().sum();
    let right: usize = (0..CLASSES).map(|digit| table[digit][digit]).sum();
    let accuracy = right as f64 / all as f64;

    println!("\n\nDevice: {}", device.title());
    println!("Training: {seconds:.1} s");
    println!("Test accuracy: {accuracy:.4} ({right} of {all} images never seen in training)");
    println!("\nDigit (row) and answer (column):");
    let header: String = (0..CLASSES).map(|digit| format!("{digit:>4}")).collect();
    println!("    {header}");
    for (digit, row) in table.iter().enumerate() {
        let cells: String = row
            .iter()
            .map(|count| if *count == 0 { format!("{:>4}", ".") } else { format!("{count:>4}") })
            .collect();
        println!(" {digit}  {cells}");
    }
    println!("\nThis ran through the engine alone, without Elixir packages.");
    accuracy
}

//! What the BEAM holds references to.

use crate::memory;
use ex_burn_engine::{Error, Program, Result, Tensor};
use rustler::{Resource, ResourceArc, Term};
use std::sync::{PoisonError, RwLock};

/// A tensor, until it is deallocated.
pub struct TensorResource {
    tensor: RwLock<Option<Tensor>>,
    bytes: usize,
}

#[rustler::resource_impl]
impl Resource for TensorResource {}

impl TensorResource {
    /// A reference to hand to the BEAM.
    pub fn new(tensor: Tensor) -> ResourceArc<Self> {
        let bytes = tensor.byte_size();
        memory::hold(bytes);
        ResourceArc::new(Self { tensor: RwLock::new(Some(tensor)), bytes })
    }

    /// Lets go of the tensor; false if that was done before.
    pub fn deallocate(&self) -> bool {
        let tensor = self.tensor.write().unwrap_or_else(PoisonError::into_inner).take();
        if tensor.is_some() {
            memory::release(self.bytes);
        }
        tensor.is_some()
    }
}

impl Drop for TensorResource {
    fn drop(&mut self) {
        self.deallocate();
    }
}

/// The reference behind a term.
pub fn reference(function: &str, term: Term) -> Result<ResourceArc<TensorResource>> {
    term.decode().map_err(|_| Error::new(function, describe(term), "a reference to a tensor"))
}

/// The tensor behind a term.
pub fn tensor(function: &str, term: Term) -> Result<Tensor> {
    let reference = reference(function, term)?;
    let tensor = reference.tensor.read().unwrap_or_else(PoisonError::into_inner);
    let deallocated = || Error::new(function, "a deallocated tensor", "a tensor");
    tensor.as_ref().cloned().ok_or_else(deallocated)
}

/// The tensors behind a list of terms.
pub fn tensors(function: &str, term: Term) -> Result<Vec<Tensor>> {
    let refused = || Error::new(function, describe(term), "a list of references to tensors");
    // The length of an improper list is refused; its iterator would panic.
    term.list_length().map_err(|_| refused())?;
    let list = term.into_list_iterator().map_err(|_| refused())?;
    list.map(|term| tensor(function, term)).collect()
}

/// A program found valid.
pub struct ProgramResource {
    /// The program.
    pub program: Program,
    /// What [`Program::work`] says of it.
    pub work: usize,
}

impl ProgramResource {
    /// A reference to hand to the BEAM.
    pub fn new(program: Program) -> ResourceArc<Self> {
        let work = program.work();
        ResourceArc::new(Self { program, work })
    }
}

#[rustler::resource_impl]
impl Resource for ProgramResource {}

/// The program behind a term.
pub fn program(function: &str, term: Term) -> Result<ResourceArc<ProgramResource>> {
    term.decode().map_err(|_| Error::new(function, describe(term), "a reference to a program"))
}

/// A term in an error: what kind it is, not what it holds.
pub fn describe(term: Term) -> String {
    format!("{:?}", term.get_type()).to_lowercase()
}

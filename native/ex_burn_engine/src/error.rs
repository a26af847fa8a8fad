//! The one error of the engine: which operation, what it was given, what it expected.

use std::fmt;

/// A refused request. Nothing was computed and nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The operation that refused, such as `add` or `reshape`.
    pub op: String,
    /// What the caller handed in.
    pub given: String,
    /// What would have been accepted.
    pub expected: String,
}

/// A result with the engine's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `op` that was given `given` where it expected `expected`.
    pub fn new(op: &str, given: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self { op: op.to_owned(), given: given.to_string(), expected: expected.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, given, expected } = self;
        write!(f, "{op}: given {given}, expected {expected}")
    }
}

impl std::error::Error for Error {}

/// Returns early with an [`Error`] unless `condition` holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $op:expr, $given:expr, $expected:expr) => {
        if !$condition {
            return Err($crate::Error::new($op, $given, $expected));
        }
    };
}

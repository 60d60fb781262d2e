//! Where an oracle is known to differ from DynamoDB, or we from it, and why that is right.

use crate::answers::Answer;
use crate::program::Step;

/// Which oracle is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Dynoxide,
    DynamoDbLocal,
}

/// A known difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exception {}

/// The exception that explains why the answers to `step` differ.
pub(crate) fn excuse(
    _endpoint: Endpoint,
    _step: &Step,
    _ours: &Answer,
    _theirs: &Answer,
) -> Option<Exception> {
    None
}

//! Conversions between the wire and the domain, one per type.

mod comparison;
mod request;
mod response;

pub(super) use comparison::{comparison, level, level_text, verification};
pub(super) use request::{
    Included, Recording, completion, included, models, new_response, recording, repository,
    sarif_response, to_severity, user,
};
pub(super) use response::{
    added_response, consensus, cost, finding, listed_consensus, listed_finding, listed_response,
    response, review, whole_review,
};

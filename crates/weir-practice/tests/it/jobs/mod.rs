//! Jobs: how they are submitted, listed, worked on and ended.

mod attempts;
mod claims;
mod clocks;
mod large_texts;
mod progress;
mod reports;
pub(crate) mod samples;
mod submissions;

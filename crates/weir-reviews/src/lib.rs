//! Stores what several AI models found in pull requests, where they agree, and what it cost.
//!
//! A [`review`] has one response of each model, and every response its [`finding`]s. Models that describe the same issue form
//! a [`consensus`].

pub mod bounds;
pub mod consensus;
mod error;
pub mod finding;
pub mod ids;
pub mod money;
pub mod review;

pub use error::{Error, Result};

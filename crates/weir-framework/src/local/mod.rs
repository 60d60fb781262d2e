//! The routes that only the socket in the data folder serves.

pub mod backup;
pub(crate) mod tables;

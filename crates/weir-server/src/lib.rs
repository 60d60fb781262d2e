//! The services of Weir over HTTP: one folder per domain, on top of `weir-framework`.
//!
//! A folder holds a domain's routes, background jobs, metrics and error codes. Its `mod.rs` implements
//! [`Service`](weir_framework::Service), which is all that the framework knows of the domain.

mod allowance;
pub mod keeper;
pub mod limiter;
mod outbound;

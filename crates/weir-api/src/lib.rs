//! The wire: every request and response type of the HTTP API, once.
//!
//! Handlers, commands and tests use these types, and the OpenAPI description is generated from them, so a field that is sent
//! is a field that is described. The crate does no I/O and knows no domain: ids are strings and amounts are integers here,
//! and the server converts them where they enter a domain.
//!
//! Requests refuse unknown fields. A field's comment is its description in OpenAPI, so it stands alone.

pub mod console;
pub mod described;
pub mod keeper;
pub mod limiter;
pub mod page;
pub mod patch;
pub mod practice;
pub mod reviews;
pub mod secret;
pub mod server;

pub use page::{Page, PageParams, TimeRangeParams};

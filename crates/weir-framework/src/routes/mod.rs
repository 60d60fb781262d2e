//! The handlers of the server's own routes. Each extracts its input, makes one call and converts the result.

pub mod admin;
pub mod docs;
pub mod health;
pub mod jobs;
pub mod security_log;
pub mod tokens;

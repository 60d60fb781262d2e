//! The handlers of the server's own routes. Each takes a request apart, asks one thing and answers.

pub mod admin;
pub mod docs;
pub mod health;
pub mod jobs;
pub mod tokens;

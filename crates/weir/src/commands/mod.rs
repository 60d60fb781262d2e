//! The commands, one file or folder each.

pub(crate) mod admin_key;
mod api_context;
pub(crate) mod backup;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod copy;
pub(crate) mod doctor;
pub(crate) mod jobs;
pub(crate) mod keeper;
pub(crate) mod limiter;
pub(crate) mod passphrase;
pub(crate) mod practice;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod reviews;
pub(crate) mod security_log;
pub(crate) mod table;
pub(crate) mod tables;
pub(crate) mod token;
pub(crate) mod verify;
pub(crate) mod wait;

//! The HTTP edge of Weir.
//!
//! A server listens twice. The TCP listener is for everyone who may reach it and so far only tells
//! how the server is. The socket `weir.sock` in the data folder is for commands: an embedded store
//! belongs to one process, so while a server has it open, `weir table query` and its like ask the
//! server through [`client::Client`]. The file system decides who may use the socket (mode 0600).
//!
//! Read next: [`router`], where every route stands once.

pub mod backup;
pub mod client;
mod health;
pub mod listen;
mod problem;
pub mod router;
pub mod run;
mod socket;
mod tables;

pub use client::Client;
pub use run::{Server, run};

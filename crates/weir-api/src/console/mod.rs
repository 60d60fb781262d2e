//! The routes of the console: its sessions, and what it shows of several services at once.

mod session;

pub use self::session::{Session, SignIn, SignOutParams};

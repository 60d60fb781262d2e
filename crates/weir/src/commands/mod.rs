//! The commands, one file or folder each.

pub(crate) mod backup;
pub(crate) mod copy;
pub(crate) mod restore;
pub(crate) mod table;
pub(crate) mod tables;

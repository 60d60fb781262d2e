//! The real binary, driven as people and scripts drive it.

mod backup;
mod copy;
mod docs;
mod home;
mod serve;
mod table;

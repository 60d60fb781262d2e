//! The real binary, driven as people and scripts drive it.

// `cfg(test)` is how clippy knows that these are tests and may unwrap, helpers included.
#[cfg(test)]
mod access;
#[cfg(test)]
mod backup;
#[cfg(test)]
mod config;
#[cfg(test)]
mod copy;
#[cfg(test)]
mod delete;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod home;
#[cfg(test)]
mod https;
#[cfg(test)]
mod infra;
#[cfg(test)]
mod keeper;
#[cfg(test)]
mod limiter;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod metrics_page;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod practice;
#[cfg(test)]
mod practice_migrate;
#[cfg(test)]
mod remote;
#[cfg(test)]
mod repair;
#[cfg(test)]
mod reviews;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod table;
#[cfg(test)]
mod tour;

//! One table, used by Weir and by the original zae-limiter 0.10.3 at the same time.
//!
//! Each test has a table of its own in DynamoDB Local, a Weir (`compat = "zae"`, over HTTP) and the
//! original (over `original.py`). What one does, the other has to see.

// `cfg(test)` is how clippy knows that these are tests and may unwrap, helpers included.
#[cfg(test)]
mod cascade;
#[cfg(test)]
mod crowd;
#[cfg(test)]
mod driver;
#[cfg(test)]
mod heal;
#[cfg(test)]
mod import;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod namespaces;
#[cfg(test)]
mod newest;
#[cfg(test)]
mod original;
#[cfg(test)]
mod place;
#[cfg(test)]
mod refill;
#[cfg(test)]
mod side;
#[cfg(test)]
mod start;
#[cfg(test)]
mod strangers;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod weir;

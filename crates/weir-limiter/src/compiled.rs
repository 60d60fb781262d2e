//! The hot calls on the binary's back-end, compiled in this crate.
//!
//! Generic code is compiled in the crate that calls it, and the server's is optimised for size. Boxed here, these calls are
//! optimised for speed with the rest of this crate (`docs/adr/0042-size-of-the-binary.md`).

use std::pin::Pin;

use weir_table::AnyBackend;

use crate::acquire::{Acquire, Acquired};
use crate::error::Result;
use crate::limiter::Namespace;

impl Namespace<AnyBackend> {
    /// [`Namespace::acquire`], boxed.
    pub fn acquire_boxed<'a>(
        &'a self,
        acquire: &'a Acquire,
    ) -> Pin<Box<dyn Future<Output = Result<Acquired>> + Send + 'a>> {
        Box::pin(self.acquire(acquire))
    }
}

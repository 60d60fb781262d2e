//! The hot calls on the binary's back-end, compiled in this crate.
//!
//! Generic code is compiled in the crate that calls it, and the server's is optimised for size. Boxed here, these calls are
//! optimised for speed with the rest of this crate (`docs/adr/0042-size-of-the-binary.md`).

use std::pin::Pin;

use weir_table::AnyBackend;

use crate::error::Result;
use crate::ids::{AppId, OrgId};
use crate::keeper::Keeper;
use crate::select::Selection;
use crate::submit::{Accepted, Submission};

type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

impl Keeper<AnyBackend> {
    /// [`Keeper::select`], boxed.
    pub fn select_boxed<'a>(
        &'a self,
        org: &'a OrgId,
        app: &'a AppId,
        force: bool,
    ) -> Boxed<'a, Selection> {
        Box::pin(self.select(org, app, force))
    }

    /// [`Keeper::submit`], boxed.
    pub fn submit_boxed<'a>(
        &'a self,
        org: &'a OrgId,
        app: &'a AppId,
        submission: &'a Submission,
    ) -> Boxed<'a, Accepted> {
        Box::pin(self.submit(org, app, submission))
    }
}

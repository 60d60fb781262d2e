//! The store under watch: it counts its calls and fails where a test says so.

use weir_table::AnyBackend;
pub(crate) use weir_testkit::watched::{Calls, Strike, Watch};

/// Either back-end, under watch.
pub(crate) type Watched = weir_testkit::watched::Watched<AnyBackend>;

//! The limiter's scopes: `ns:{name}` administers a namespace, `ns:{name}:acquire` acquires, settles and reads,
//! `ns:{name}:read` reads.

use weir_framework::auth::scope_kind::{Level, ScopeKind};

/// The action of a limited program.
pub(super) const ACQUIRE: &str = "acquire";

/// `ns:{ns}`.
pub(crate) static NAMESPACE: ScopeKind =
    ScopeKind::new("ns", &[Level::exact("ns")]).with_actions(&[ACQUIRE]);

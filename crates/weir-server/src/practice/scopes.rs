//! The scopes of practice: `practice` for everything, `practice:user:{user_id}` for the backend of one user, and
//! `practice:worker` for workers; each with `:read` only to read.

use weir_framework::auth::scope_kind::{Level, ScopeKind};
use weir_framework::required_scope::RequiredScope;

/// `practice` and `practice:read`.
pub(super) static PRACTICE: ScopeKind = ScopeKind::new("practice", &[]).or_without_tenant();

/// `practice:user:{user_id}`.
pub(super) static USER: ScopeKind =
    ScopeKind::new("practice:user", &[Level::exact("user_id")]).within(&PRACTICE);

/// `practice:worker`.
pub(super) static WORKER: ScopeKind =
    ScopeKind::new("practice:worker", &[]).or_without_tenant().within(&PRACTICE);

/// For administrators, and for readers with a safe method.
pub(super) const ADMINISTRATOR: RequiredScope = RequiredScope::Tenant(&PRACTICE);
/// Also for the backend of a user; the handler asks [`UserAccess`](super::access::UserAccess) what it may see.
pub(super) const ANY_USER: RequiredScope = RequiredScope::AnyTenant(&USER);
/// Also for workers.
pub(super) const ANY_WORKER: RequiredScope = RequiredScope::Tenant(&WORKER);
/// Also for users and workers; the handler asks [`UserAccess`](super::access::UserAccess) what they may see.
pub(super) const USER_OR_WORKER: RequiredScope = RequiredScope::AnyOf(&[&USER, &WORKER]);

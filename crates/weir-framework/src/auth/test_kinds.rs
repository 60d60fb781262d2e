//! Kinds of scopes for tests: one of each form.

use std::borrow::Cow;

use super::scope_kind::{Level, ScopeKind, ScopeKinds};

pub(crate) static NS: ScopeKind =
    ScopeKind::new("ns", &[Level::exact("ns")]).with_actions(&["acquire"]);

pub(crate) static ORG: ScopeKind = ScopeKind::new(
    "org",
    &[
        Level { parameter: "org", canonical: |id| Cow::Owned(id.to_ascii_lowercase()) },
        Level::exact("app"),
    ],
)
.with_inner("app")
.with_actions(&["submit"]);

pub(crate) static REVIEWS: ScopeKind =
    ScopeKind::new("reviews", &[Level::exact("owner"), Level::exact("repo")]).or_without_tenant();

pub(crate) static NOTES: ScopeKind = ScopeKind::new("notes", &[]).or_without_tenant();

pub(crate) static AUTHOR: ScopeKind =
    ScopeKind::new("notes:author", &[Level::exact("author")]).within(&NOTES);

pub(crate) static PRINTER: ScopeKind =
    ScopeKind::new("notes:printer", &[]).or_without_tenant().within(&NOTES);

pub(crate) fn kinds() -> ScopeKinds {
    ScopeKinds::new([&NS, &ORG, &REVIEWS, &NOTES, &AUTHOR, &PRINTER])
}

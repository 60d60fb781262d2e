//! The scopes of reviews: `reviews` for all, `reviews:{owner}` for those of an owner, `reviews:{owner}/{repo}` for those of a
//! repository; each with `:read` only to read.

use weir_framework::auth::scope_kind::{Level, ScopeKind};

/// `reviews`, `reviews:{owner}` and `reviews:{owner}/{repo}`.
pub(super) static REVIEWS: ScopeKind =
    ScopeKind::new("reviews", &[Level::exact("owner"), Level::exact("repo")])
        .or_without_tenant()
        .with_advice(
            "a scope of an owner or a repository is enough for /v1/reviews/repos/{owner}/{repo}, its /costs, \
             /v1/reviews/compare?repo={owner}/{repo}, and /v1/reviews/{id} with everything below it",
        );

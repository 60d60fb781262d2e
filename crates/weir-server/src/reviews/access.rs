//! Which reviews a caller may reach.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::auth::grant::Access;
use weir_framework::authorize::Caller;
use weir_reviews::ids::{Owner, Repo};
use weir_reviews::{ReviewRef, Reviews};
use weir_table::AnyBackend;

use super::error::ReviewsError;
use super::path::reviews;
use super::scopes::REVIEWS;

/// The reviews that the caller may reach with the method of the request; the others are missing.
pub(crate) struct ScopedReviews(pub(crate) Reviews<AnyBackend>);

impl FromRequestParts<App> for ScopedReviews {
    type Rejection = ReviewsError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ReviewsError> {
        let Caller(identity) = Caller::from_request_parts(parts, app).await?;
        let access = if parts.method.is_safe() { Access::Read } else { Access::Write };
        let all = reviews(app)?;
        if identity.grants.allows(&REVIEWS, &[], access) {
            return Ok(ScopedReviews(all.clone()));
        }
        let is_visible = move |review: &ReviewRef| {
            let ids = [review.owner.as_str(), review.repo.as_str()];
            identity.grants.allows(&REVIEWS, &ids, access)
        };
        Ok(ScopedReviews(all.visible_if(is_visible)))
    }
}

/// Checks that a caller may record in a repository.
pub(super) fn may_record(caller: &Caller, owner: &Owner, repo: &Repo) -> Result<(), ApiError> {
    caller.require(&REVIEWS, &[owner.as_str(), repo.as_str()], Access::Write)
}

/// Checks that a caller may read all reviews of a repository, or of all repositories.
pub(super) fn may_read(caller: &Caller, of: Option<&(Owner, Repo)>) -> Result<(), ApiError> {
    match of {
        Some((owner, repo)) => {
            caller.require(&REVIEWS, &[owner.as_str(), repo.as_str()], Access::Read)
        }
        None => caller.require(&REVIEWS, &[], Access::Read),
    }
}

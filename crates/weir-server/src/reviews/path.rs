//! The review, repository, model, finding, user or day that a path names.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use weir_calendar::Day;
use weir_framework::app::App;
use weir_framework::path::param;
use weir_reviews::Reviews;
use weir_reviews::ids::{FindingId, ModelId, Owner, Repo, ReviewId, UserName};
use weir_reviews::time::parse_day;
use weir_table::AnyBackend;

use super::error::ReviewsError;

/// The reviews of the running server.
pub(super) fn reviews(app: &App) -> Result<&Reviews<AnyBackend>, ReviewsError> {
    Ok(app.kept_by("reviews")?)
}

/// Declares extractors of path parameters: the parameters and the ids that they hold.
macro_rules! paths {
    ($($(#[$doc:meta])* $name:ident { $($parameter:literal: $id:ty = $parse:expr),+ })*) => {$(
        $(#[$doc])*
        pub(crate) struct $name($(pub(crate) $id),+);

        impl FromRequestParts<App> for $name {
            type Rejection = ReviewsError;

            async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ReviewsError> {
                Ok($name($({
                    let parse: fn(&str) -> weir_reviews::Result<$id> = $parse;
                    param::<_, _, ReviewsError>(parts, $parameter, parse).await?
                }),+))
            }
        }
    )*};
}

paths! {
    /// The review `{id}`.
    ReviewPath { "id": ReviewId = |text| ReviewId::new(text) }
    /// The repository `{repo}` of `{owner}`.
    RepoPath { "owner": Owner = |text| Owner::new(text), "repo": Repo = |text| Repo::new(text) }
    /// The model `{model}`.
    ModelPath { "model": ModelId = |text| ModelId::new(text) }
    /// The finding `{finding_id}` of the model `{model}`.
    FindingPath {
        "model": ModelId = |text| ModelId::new(text),
        "finding_id": FindingId = |text| FindingId::new(text)
    }
    /// The user `{user}`.
    UserPath { "user": UserName = |text| UserName::new(text) }
    /// The day `{day}`.
    DatePath { "day": Day = |text| parse_day("date", text) }
}

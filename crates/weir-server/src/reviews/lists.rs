//! Lists of reviews and of what models said, the newest first.

use axum::extract::State;
use weir_api::reviews::{
    CostMetric, DateParam, FindingsParams, ListedConsensus, ListedFinding, ListedResponse,
    ModelParam, RepoParam, Review, UserParam,
};
use weir_framework::ApiError;
use weir_framework::app::App;
use weir_framework::extract::QueryParts;
use weir_framework::page::{
    Page, PageLimit as _, PageParams, TimeRange as _, TimeRangeParams, page_response,
};
use weir_reviews::ids::Category;
use weir_reviews::read::ListOptions;

use super::convert;
use super::error::{Reply, ReviewsError};
use super::path::{DatePath, ModelPath, RepoPath, UserPath, reviews};

type Params = QueryParts<(PageParams, TimeRangeParams)>;

fn options(page: PageParams, range: &TimeRangeParams) -> Result<ListOptions, ReviewsError> {
    let (from_ms, to_ms) = range.parsed()?;
    Ok(ListOptions { from_ms, to_ms, limit: page.checked_limit()?, cursor: page.cursor })
}

/// Lists the reviews of a repository
#[utoipa::path(get, path = "/v1/reviews/repos/{owner}/{repo}", tag = "reviews",
    params(RepoParam, TimeRangeParams, PageParams), responses((status = 200, body = Page<Review>)))]
pub(crate) async fn by_repo(
    State(app): State<App>,
    RepoPath(owner, repo): RepoPath,
    QueryParts((page, range)): Params,
) -> Reply<Page<Review>> {
    let found = reviews(&app)?.by_repo(&owner, &repo, &options(page, &range)?).await?;
    Ok(page_response(found, convert::review))
}

/// Lists the costs of a repository, by review and model
///
/// Costs are retained longer than reviews.
#[utoipa::path(get, path = "/v1/reviews/repos/{owner}/{repo}/costs", tag = "reviews",
    params(RepoParam, TimeRangeParams, PageParams),
    responses((status = 200, body = Page<CostMetric>)))]
pub(crate) async fn costs(
    State(app): State<App>,
    RepoPath(owner, repo): RepoPath,
    QueryParts((page, range)): Params,
) -> Reply<Page<CostMetric>> {
    let found = reviews(&app)?.costs(&owner, &repo, &options(page, &range)?).await?;
    Ok(page_response(found, convert::cost))
}

/// Lists the responses of a model
#[utoipa::path(get, path = "/v1/reviews/models/{model}", tag = "reviews",
    params(ModelParam, TimeRangeParams, PageParams),
    responses((status = 200, body = Page<ListedResponse>)))]
pub(crate) async fn by_model(
    State(app): State<App>,
    ModelPath(model): ModelPath,
    QueryParts((page, range)): Params,
) -> Reply<Page<ListedResponse>> {
    let found = reviews(&app)?.by_model(&model, &options(page, &range)?).await?;
    Ok(page_response(found, convert::listed_response))
}

/// Lists the reviews of a day
#[utoipa::path(get, path = "/v1/reviews/dates/{day}", tag = "reviews",
    params(DateParam, TimeRangeParams, PageParams), responses((status = 200, body = Page<Review>)))]
pub(crate) async fn by_date(
    State(app): State<App>,
    DatePath(day): DatePath,
    QueryParts((page, range)): Params,
) -> Reply<Page<Review>> {
    let found = reviews(&app)?.by_date(day, &options(page, &range)?).await?;
    Ok(page_response(found, convert::review))
}

/// Lists all reviews
#[utoipa::path(get, path = "/v1/reviews", tag = "reviews",
    params(TimeRangeParams, PageParams), responses((status = 200, body = Page<Review>)))]
pub(crate) async fn all(
    State(app): State<App>,
    QueryParts((page, range)): Params,
) -> Reply<Page<Review>> {
    let found = reviews(&app)?.all(&options(page, &range)?).await?;
    Ok(page_response(found, convert::review))
}

/// Lists the findings of a severity or a category
#[utoipa::path(get, path = "/v1/reviews/findings", tag = "reviews",
    params(FindingsParams, TimeRangeParams, PageParams),
    responses((status = 200, body = Page<ListedFinding>)))]
pub(crate) async fn all_findings(
    State(app): State<App>,
    QueryParts((page, range, by)): QueryParts<(PageParams, TimeRangeParams, FindingsParams)>,
) -> Reply<Page<ListedFinding>> {
    let (reviews, options) = (reviews(&app)?, options(page, &range)?);
    let found = match (by.severity, by.category) {
        (Some(severity), None) => {
            reviews.findings_by_severity(convert::to_severity(severity), &options).await?
        }
        (None, Some(category)) => {
            reviews.findings_by_category(&Category::new(&category)?, &options).await?
        }
        _ => {
            let problem = "or category is required, and not both";
            return Err(ApiError::invalid("severity", problem).into());
        }
    };
    Ok(page_response(found, convert::listed_finding))
}

/// Lists the issues that several models found, of all reviews
#[utoipa::path(get, path = "/v1/reviews/consensus", tag = "reviews",
    params(TimeRangeParams, PageParams), responses((status = 200, body = Page<ListedConsensus>)))]
pub(crate) async fn all_consensus(
    State(app): State<App>,
    QueryParts((page, range)): Params,
) -> Reply<Page<ListedConsensus>> {
    let found = reviews(&app)?.all_consensus(&options(page, &range)?).await?;
    Ok(page_response(found, convert::listed_consensus))
}

/// Lists the reviews that a user requested
#[utoipa::path(get, path = "/v1/reviews/users/{user}", tag = "reviews",
    params(UserParam, TimeRangeParams, PageParams), responses((status = 200, body = Page<Review>)))]
pub(crate) async fn by_user(
    State(app): State<App>,
    UserPath(user): UserPath,
    QueryParts((page, range)): Params,
) -> Reply<Page<Review>> {
    let found = reviews(&app)?.by_user(&user, &options(page, &range)?).await?;
    Ok(page_response(found, convert::review))
}

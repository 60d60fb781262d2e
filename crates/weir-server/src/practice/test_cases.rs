//! Test cases of a problem.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use utoipa_axum::routes;
use weir_api::practice::{
    JSON_LINES, NewTestCase, ProblemParam, TestCase, TestCaseParam, UploadParams, UploadResponse,
    ZIP,
};
use weir_framework::actor::Actor;
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::{Body, Query, pieces};
use weir_framework::page::{Page, PageParams, page_response};
use weir_framework::prelude::Created;
use weir_framework::{ApiError, Code};
use weir_practice::Error;
use weir_practice::bounds::{BULK_BYTES_MAX, JSON_BODY_MAX};
use weir_practice::ids::IdempotencyKey;
use weir_practice::test_cases::bulk::{BulkFormat, BulkUpload, CheckedUpload};

use super::access::UserAccess;
use super::convert;
use super::error::{PracticeError, Reply};
use super::path::{ProblemPath, TestCasePath, practice};
use super::scopes::{ADMINISTRATOR, ANY_WORKER, USER_OR_WORKER};
use super::slots::slots;
use super::viewer::Viewer;

/// Largest upload; the domain refuses one byte more by name, so the route lets that byte in.
const UPLOAD_BODY_MAX: usize = BULK_BYTES_MAX as usize + 1;

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route_with_body(ANY_WORKER, routes!(add), JSON_BODY_MAX)
        .route(USER_OR_WORKER, routes!(list))
        .route_with_body(ADMINISTRATOR, routes!(replace), JSON_BODY_MAX)
        .route(ADMINISTRATOR, routes!(delete))
        .route_with_body(ANY_WORKER, routes!(upload), UPLOAD_BODY_MAX)
}

/// Adds a test case to a problem
#[utoipa::path(post, path = "/v1/practice/problems/{platform}/{problem_id}/testcases",
    tag = "practice-test-cases", params(ProblemParam), request_body = NewTestCase,
    responses((status = 201, body = TestCase)))]
pub(crate) async fn add(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
    Body(request): Body<NewTestCase>,
) -> Result<Created<TestCase>, PracticeError> {
    let new = convert::new_test_case(request);
    let added = practice(&app)?.add_test_case(&at, new, actor.name()).await?;
    Ok(Created(convert::test_case(added)))
}

/// Lists the test cases of a problem, by id
///
/// The backend of a user gets samples only. A page may be short while there are more.
#[utoipa::path(get, path = "/v1/practice/problems/{platform}/{problem_id}/testcases",
    tag = "practice-test-cases", params(ProblemParam, PageParams),
    responses((status = 200, body = Page<TestCase>)))]
pub(crate) async fn list(
    State(app): State<App>,
    access: UserAccess,
    ProblemPath(at): ProblemPath,
    Query(page): Query<PageParams>,
) -> Reply<Page<TestCase>> {
    let page = convert::page_request(page)?;
    let (practice, viewer) = (practice(&app)?, Viewer::of(&app, &access).await?);
    if let Viewer::Users(_) = viewer {
        viewer.check(&practice.problem(&at).await?.summary)?;
    }
    let found = practice.test_cases(&at, viewer.test_cases(), &page).await?;
    Ok(page_response(found, convert::test_case))
}

/// Replaces a test case
#[utoipa::path(put, path = "/v1/practice/problems/{platform}/{problem_id}/testcases/{id}",
    tag = "practice-test-cases", params(ProblemParam, TestCaseParam), request_body = NewTestCase,
    responses((status = 200, body = TestCase)))]
pub(crate) async fn replace(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
    TestCasePath(id): TestCasePath,
    Body(request): Body<NewTestCase>,
) -> Reply<TestCase> {
    let new = convert::new_test_case(request);
    let replaced = practice(&app)?.replace_test_case(&at, &id, new, actor.name()).await?;
    Ok(Json(convert::test_case(replaced)))
}

/// Deletes a test case
#[utoipa::path(delete, path = "/v1/practice/problems/{platform}/{problem_id}/testcases/{id}",
    tag = "practice-test-cases", params(ProblemParam, TestCaseParam), responses((status = 204)))]
pub(crate) async fn delete(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
    TestCasePath(id): TestCasePath,
) -> Result<StatusCode, PracticeError> {
    practice(&app)?.delete_test_case(&at, &id, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Adds many test cases to a problem
///
/// The upload is a JSON array, JSON lines, or a zip archive with an entry `….in` and an entry `….out` for each test case;
/// entries below a folder `sample` or `samples` are samples. It is checked as a whole before anything is stored. The same
/// upload again adds nothing and returns 200.
#[utoipa::path(post, path = "/v1/practice/problems/{platform}/{problem_id}/testcases/bulk",
    tag = "practice-test-cases", params(ProblemParam, UploadParams),
    request_body(content((Vec<NewTestCase> = "application/json"),
        (String = "application/x-ndjson"), (String = "application/zip"))),
    responses(
        (status = 200, description = "The test cases were added before", body = UploadResponse),
        (status = 201, description = "Test cases are added", body = UploadResponse)))]
pub(crate) async fn upload(
    State(app): State<App>,
    actor: Actor,
    ProblemPath(at): ProblemPath,
    Query(params): Query<UploadParams>,
    request: Request,
) -> Result<Response, PracticeError> {
    let key = params.idempotency_key.as_deref().map(IdempotencyKey::new).transpose()?;
    let format = bulk_format(request.headers())?;
    let _slot = slots(&app)?.upload()?;
    let checked = receive(format, request).await?;
    let practice = practice(&app)?;
    let stored = practice.upload_test_cases(&at, checked, key.as_ref(), actor.name()).await?;
    let uploaded = convert::uploaded(stored);
    Ok(match uploaded.added {
        0 => Json(uploaded).into_response(),
        _ => Created(uploaded).into_response(),
    })
}

/// Receives an upload as it arrives, and checks all of it on a thread for blocking work.
async fn receive(format: BulkFormat, request: Request) -> Result<CheckedUpload, PracticeError> {
    let mut upload = BulkUpload::new(format);
    pieces(request, |piece| Ok::<_, PracticeError>(upload.push(piece)?)).await?;
    let checked = tokio::task::spawn_blocking(move || upload.check()).await;
    let failed = |error: tokio::task::JoinError| Error::damaged("the upload", error.to_string());
    Ok(checked.map_err(failed)??)
}

/// The format of an upload with this content type.
fn bulk_format(headers: &HeaderMap) -> Result<BulkFormat, ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    match kind.to_ascii_lowercase().as_str() {
        "application/json" => Ok(BulkFormat::Json),
        JSON_LINES | "application/jsonl" | "application/json-lines" => Ok(BulkFormat::JsonLines),
        ZIP | "application/x-zip-compressed" => Ok(BulkFormat::Zip),
        _ => {
            let detail = format!("the upload must be application/json, {JSON_LINES} or {ZIP}");
            Err(ApiError::new(Code::UNSUPPORTED_MEDIA_TYPE, detail))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_says_the_format() {
        let format = |kind: &str| {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]);
            bulk_format(&headers).ok()
        };
        for (kind, expected) in [
            ("application/json; charset=utf-8", Some(BulkFormat::Json)),
            ("Application/X-NDJSON", Some(BulkFormat::JsonLines)),
            ("application/jsonl", Some(BulkFormat::JsonLines)),
            ("application/zip", Some(BulkFormat::Zip)),
            ("text/plain", None),
            ("", None),
        ] {
            assert_eq!(format(kind), expected, "{kind}");
        }
        assert!(bulk_format(&HeaderMap::new()).is_err());
    }
}

//! The parts of the OpenAPI description that all operations share: required scopes, errors, and
//! the headers of every response. Handlers describe the rest.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use serde_json::Value;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::{Object, Type};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Components, Content, Header, InfoBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Response,
    ResponseBuilder,
};

use crate::problem::{self, Problem};
use crate::required_scope::RequiredScope;
use crate::session_cookie;

const TEXT: &str = "\
Usage control plane for AI applications: limits, budgets, metering and their records.\n\n\
Errors are `application/problem+json`; every response has `X-Request-Id`. Lists return \
`{items, next_cursor}` and take `limit` and `cursor`. Times are RFC 3339.";

const REQUEST_ID: &str = "X-Request-Id";

/// An error response that operations share.
struct Failure {
    /// The name of the component.
    name: &'static str,
    /// The status, or `default`.
    status: &'static str,
    text: &'static str,
    /// An additional header and its description.
    header: Option<(&'static str, &'static str)>,
}

const BAD_REQUEST: Failure =
    failure("BadRequest", "400", "The request is not valid; `details.field` names the field");
const UNAUTHORIZED: Failure = Failure {
    header: Some(("WWW-Authenticate", "The authentication scheme")),
    ..failure("Unauthorized", "401", "Credentials are missing or not valid")
};
const FORBIDDEN: Failure = failure("Forbidden", "403", "The credentials lack the required scope");
const NOT_FOUND: Failure = failure("NotFound", "404", "Not found");
const PAYLOAD_TOO_LARGE: Failure =
    failure("PayloadTooLarge", "413", "The request body is too large");
const UNSUPPORTED_MEDIA_TYPE: Failure =
    failure("UnsupportedMediaType", "415", "The body is not JSON");
const ERROR: Failure = failure("Error", "default", "Any other error");

const FAILURES: [Failure; 7] = [
    BAD_REQUEST,
    UNAUTHORIZED,
    FORBIDDEN,
    NOT_FOUND,
    PAYLOAD_TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE,
    ERROR,
];

const fn failure(name: &'static str, status: &'static str, text: &'static str) -> Failure {
    let header = None;
    Failure { name, status, text, header }
}

impl Failure {
    fn response(&self) -> Response {
        let content = Content::new(Some(Ref::from_schema_name("Problem")));
        let response = ResponseBuilder::new()
            .description(self.text)
            .header_ref(REQUEST_ID, request_id())
            .content(problem::CONTENT_TYPE, content);
        match self.header {
            Some((name, text)) => response.header(name, header(text)).build(),
            None => response.build(),
        }
    }
}

/// The description without any route.
pub(crate) fn frame() -> OpenApi {
    let mut components = Components::new();
    let key = ApiKey::Header(ApiKeyValue::new("X-API-Key"));
    components.add_security_scheme("admin_key", SecurityScheme::ApiKey(key));
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT");
    components.add_security_scheme("token", SecurityScheme::Http(bearer.build()));
    // The console's; a request that changes something also needs the header X-CSRF-Token.
    let cookie = ApiKey::Cookie(ApiKeyValue::with_description(
        session_cookie::PLAIN,
        "The session of a console. The name ends with an id of the store, and begins with `__Host-` over TLS.",
    ));
    components.add_security_scheme("session", SecurityScheme::ApiKey(cookie));
    let name = <Problem as utoipa::ToSchema>::name();
    let schema = <Problem as utoipa::PartialSchema>::schema();
    components.schemas.insert(name.into_owned(), schema);
    let id = header("The request's id, also in the server's log; the client's own if it sent one");
    components.headers.insert(REQUEST_ID.to_owned(), id.into());
    for failure in &FAILURES {
        let response = failure.response();
        components.responses.insert(failure.name.to_owned(), response.into());
    }
    let info =
        InfoBuilder::new().title("Weir").version(env!("CARGO_PKG_VERSION")).description(Some(TEXT));
    OpenApiBuilder::new().info(info.build()).components(Some(components)).build()
}

fn header(text: &str) -> Header {
    let schema = Object::with_type(Type::String);
    HeaderBuilder::new().schema(Some(schema)).description(Some(text)).build()
}

fn request_id() -> Ref {
    Ref::new(format!("#/components/headers/{REQUEST_ID}"))
}

/// The operations of a path.
pub(crate) fn operations(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    [
        (Method::GET, &mut item.get),
        (Method::PUT, &mut item.put),
        (Method::POST, &mut item.post),
        (Method::DELETE, &mut item.delete),
        (Method::PATCH, &mut item.patch),
    ]
    .into_iter()
    .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// Adds the shared parts to an operation.
pub(crate) fn describe(
    (method, operation): (Method, &mut Operation),
    path: &str,
    required_scope: RequiredScope,
) {
    // Handlers may share a name; operation ids must be unique.
    let tag = operation.tags.iter().flatten().next().cloned();
    if let (Some(tag), Some(id)) = (tag, &mut operation.operation_id) {
        *id = format!("{tag}_{id}");
    }
    let extensions =
        ExtensionsBuilder::new().add("x-weir-scope", required_scope.text(&method, path));
    operation.extensions.get_or_insert_default().merge(extensions.build());
    let schemes: &[&str] = match required_scope {
        RequiredScope::Public(_) => &[],
        _ => &["admin_key", "token", "session"],
    };
    let either = schemes.iter().map(|name| SecurityRequirement::new(*name, Vec::<String>::new()));
    operation.security = Some(either.collect());
    responses(operation);
    failures(operation, path, required_scope);
}

/// Describes each response by its status, unless its route does, and adds the request id.
fn responses(operation: &mut Operation) {
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else {
            continue;
        };
        if response.description.is_empty() {
            let status = status.parse::<StatusCode>().ok();
            let reason = status.and_then(|status| status.canonical_reason());
            response.description = reason.unwrap_or("A response").to_owned();
        }
        response.headers.insert(REQUEST_ID.to_owned(), RefOr::Ref(request_id()));
    }
}

/// Adds the errors of such an operation, except those that it describes itself.
fn failures(operation: &mut Operation, path: &str, required_scope: RequiredScope) {
    let has_body = operation.request_body.is_some();
    let has_parameters = operation.parameters.as_ref().is_some_and(|all| !all.is_empty());
    let protected = !matches!(required_scope, RequiredScope::Public(_));
    for (applies, failure) in [
        (has_body || has_parameters, BAD_REQUEST),
        (protected, UNAUTHORIZED),
        (protected, FORBIDDEN),
        (path.contains('{'), NOT_FOUND),
        (has_body, PAYLOAD_TOO_LARGE),
        (has_body, UNSUPPORTED_MEDIA_TYPE),
        (true, ERROR),
    ] {
        if applies {
            let shared = RefOr::Ref(Ref::from_response_name(failure.name));
            let responses = &mut operation.responses.responses;
            responses.entry(failure.status.to_owned()).or_insert(shared);
        }
    }
}

/// References to missing components. A type that only a path parameter uses has none; describe it
/// in place with `inline(..)`.
pub(crate) fn dangling(description: &OpenApi) -> BTreeSet<String> {
    let whole = serde_json::to_value(description).unwrap_or_default();
    let mut referred = BTreeSet::new();
    references(&whole, &mut referred);
    let there = |reference: &String| {
        let pointer = reference.strip_prefix('#').unwrap_or_default();
        whole.pointer(pointer).is_some()
    };
    referred.retain(|reference| !there(reference));
    referred
}

/// Collects the references in a value. Its depth is bounded by the types it is made from.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                found.insert(reference.clone());
            }
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

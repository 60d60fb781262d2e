//! Declaring routes. A route is declared with what it needs of its caller: there is no other way.

use axum::Router;
use axum::middleware::from_fn_with_state;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Components, Content, InfoBuilder, OpenApi, OpenApiBuilder, Ref, ResponseBuilder,
};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::app::App;
use crate::guard::{Declared, guard};
use crate::need::Need;
use crate::problem::{self, Problem};

const DESCRIPTION: &str = "\
Usage control plane for AI applications: limits, budgets, metering and their records.\n\n\
Errors are `application/problem+json`; every answer has `X-Request-Id`. Lists answer \
`{items, next_cursor}` and take `limit` and `cursor`. Times are RFC 3339.";

/// Routes being declared.
pub struct Api {
    app: App,
    router: OpenApiRouter<App>,
    mistakes: Vec<String>,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Api")
    }
}

impl Api {
    pub(crate) fn new(app: App) -> Api {
        let router = OpenApiRouter::with_openapi(frame());
        Api { app, router, mistakes: Vec::new() }
    }

    /// Declares the routes of one path (made by `routes!`) and what they need.
    #[must_use]
    pub fn route(mut self, need: Need, routes: UtoipaMethodRouter<App>) -> Api {
        let (schemas, mut paths, mut handlers) = routes;
        for (path, item) in &mut paths.paths {
            if let Some(missing) =
                need.parameter().filter(|name| !path.contains(&format!("{{{name}}}")))
            {
                self.mistakes.push(format!("{path} needs {need:?} and names no {{{missing}}}"));
            }
            operations(item).for_each(|operation| describe(operation, need));
            // Routes are declared once in a process's life; their names are kept for as long.
            let path: &'static str = Box::leak(path.clone().into_boxed_str());
            let state = (self.app.clone(), Declared { path, need });
            handlers = handlers.route_layer(from_fn_with_state(state, guard));
        }
        self.router = self.router.routes((schemas, paths, handlers));
        self
    }

    /// What was declared wrongly, for tests: such a route lets nobody but the operator in.
    #[must_use]
    pub fn mistakes(&self) -> &[String] {
        &self.mistakes
    }

    pub(crate) fn finish(self) -> (Router<App>, OpenApi) {
        for mistake in &self.mistakes {
            tracing::error!(mistake, "a route is declared wrongly");
        }
        self.router.split_for_parts()
    }
}

/// The description without any route.
fn frame() -> OpenApi {
    let mut components = Components::new();
    let key = ApiKey::Header(ApiKeyValue::new("X-API-Key"));
    components.add_security_scheme("admin_key", SecurityScheme::ApiKey(key));
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT");
    components.add_security_scheme("token", SecurityScheme::Http(bearer.build()));
    let name = <Problem as utoipa::ToSchema>::name();
    components.schemas.insert(name.into_owned(), <Problem as utoipa::PartialSchema>::schema());
    let info = InfoBuilder::new()
        .title("Weir")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION));
    OpenApiBuilder::new().info(info.build()).components(Some(components)).build()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch]
        .into_iter()
        .flatten()
}

/// Adds what all operations share: who may call them, and how they fail.
fn describe(operation: &mut Operation, need: Need) {
    // Handlers of different things may have the same name; ids may not.
    let tag = operation.tags.iter().flatten().next().cloned();
    if let (Some(tag), Some(id)) = (tag, &mut operation.operation_id) {
        *id = format!("{tag}_{id}");
    }
    let extensions = ExtensionsBuilder::new().add("x-weir-scope", need.text());
    operation.extensions.get_or_insert_default().merge(extensions.build());
    let mut failures = vec![("default", "An error")];
    if let Need::Nothing(_) = need {
        operation.security = Some(Vec::new());
    } else {
        let schemes = ["admin_key", "token"];
        let either = schemes.map(|name| SecurityRequirement::new(name, Vec::<String>::new()));
        operation.security = Some(either.to_vec());
        failures.push(("401", "Credentials are missing or not valid"));
        failures.push(("403", "The credentials do not reach this"));
    }
    for (status, description) in failures {
        let content = Content::new(Some(Ref::from_schema_name("Problem")));
        let failure =
            ResponseBuilder::new().description(description).content(problem::CONTENT_TYPE, content);
        operation.responses.responses.insert(status.to_owned(), failure.build().into());
    }
}

//! Declaring routes. A route is declared with what it needs of its caller: there is no other way.

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use axum::routing::Route;
use tower::layer::layer_fn;
use tower::service_fn;
use utoipa::openapi::{OpenApi, PathItem};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::app::App;
use crate::authorize::{DeclaredRoute, authorize};
use crate::description::{dangling, describe, frame, operations};
use crate::edge::express::{Asked, Express, Sent};
use crate::error::ApiError;
use crate::links;
use crate::required_scope::RequiredScope;

/// Routes being declared.
pub struct Api {
    app: App,
    router: OpenApiRouter<App>,
    express: Vec<Express>,
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
        Api { app, router, express: Vec::new(), mistakes: Vec::new() }
    }

    /// Declares the routes of one path (made by `routes!`) and the scope they require.
    #[must_use]
    pub fn route(mut self, required_scope: RequiredScope, routes: UtoipaMethodRouter<App>) -> Api {
        self.declare(required_scope, routes);
        self
    }

    /// Declares one route that is asked very often, and its handler for the short way.
    #[must_use]
    pub fn express<H, F, E>(
        mut self,
        required_scope: RequiredScope,
        routes: UtoipaMethodRouter<App>,
        handler: H,
    ) -> Api
    where
        H: Fn(App, Asked, Sent) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response, E>> + Send + 'static,
        E: Into<ApiError> + 'static,
    {
        let methods: Vec<Method> = routes.1.paths.values().flat_map(methods).collect();
        let declared = self.declare(required_scope, routes);
        let express = match (methods.as_slice(), declared) {
            ([method], Some(declared)) => Express::new(method.clone(), declared, handler),
            _ => None,
        };
        if express.is_none() {
            self.mistakes.push(format!("what {methods:?} stand for has no short way"));
        }
        self.express.extend(express);
        self
    }

    /// Adds routes behind `authorize`; returns the last one.
    fn declare(
        &mut self,
        required_scope: RequiredScope,
        routes: UtoipaMethodRouter<App>,
    ) -> Option<DeclaredRoute> {
        let (schemas, mut paths, mut handlers) = routes;
        let mut last = None;
        for (path, item) in &mut paths.paths {
            if let Some(missing) =
                required_scope.parameter().filter(|name| !path.contains(&format!("{{{name}}}")))
            {
                self.mistakes
                    .push(format!("{path} requires {required_scope:?} but has no {{{missing}}}"));
            }
            operations(item).for_each(|operation| describe(operation, path, required_scope));
            // Routes are declared once in a process's life; their names are kept for as long.
            let path: &'static str = Box::leak(path.clone().into_boxed_str());
            let declared =
                DeclaredRoute { path, required_scope, metrics: self.app.metrics().route(path) };
            last = Some(declared);
            let app = self.app.clone();
            // The future of `authorize` is boxed once, by the route that axum makes of it.
            handlers = handlers.route_layer(layer_fn(move |handler: Route| {
                let app = app.clone();
                service_fn(move |request: Request| {
                    authorize(app.clone(), declared, handler.clone(), request)
                })
            }));
        }
        let router = std::mem::take(&mut self.router);
        self.router = router.routes((schemas, paths, handlers));
        last
    }

    /// What was declared wrongly, for tests. A route that names no tenant lets nobody but the
    /// operator in.
    #[must_use]
    pub fn mistakes(&self) -> Vec<String> {
        let dangling = dangling(self.router.get_openapi());
        let dangling = dangling
            .iter()
            .map(|reference| format!("the description refers to {reference}, which it lacks"));
        self.mistakes.iter().cloned().chain(dangling).collect()
    }

    pub(crate) fn finish(self) -> (Router<App>, Vec<Express>, OpenApi) {
        for mistake in self.mistakes() {
            tracing::error!(mistake, "a route is declared wrongly");
        }
        let (router, mut description) = self.router.split_for_parts();
        links::connect(&mut description);
        (router, self.express, description)
    }
}

/// The methods of a path that can have a short way.
fn methods(item: &PathItem) -> impl Iterator<Item = Method> {
    let known = [(Method::GET, &item.get), (Method::POST, &item.post), (Method::PUT, &item.put)];
    known.into_iter().filter(|(_, operation)| operation.is_some()).map(|(method, _)| method)
}

//! Declaring routes. A route cannot be declared without the scope that it requires.

use std::convert::Infallible;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::Route;
use tower::layer::layer_fn;
use tower::service_fn;
use tower::util::ServiceExt as _;
use utoipa::openapi::{OpenApi, PathItem, RefOr, Schema};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::app::App;
use crate::authorize::{DeclaredRoute, authorize};
use crate::description::{dangling, describe, frame, operations};
use crate::edge::fast_path::FastRoute;
use crate::links;
use crate::required_scope::RequiredScope;

/// The routes that are declared so far.
pub struct Api {
    app: App,
    router: OpenApiRouter<App>,
    fast_routes: Vec<FastRoute>,
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
        Api { app, router, fast_routes: Vec::new(), mistakes: Vec::new() }
    }

    /// Declares the routes of one path (made by `routes!`) and the scope they require.
    #[must_use]
    pub fn route(mut self, required_scope: RequiredScope, routes: UtoipaMethodRouter<App>) -> Api {
        self.declare(required_scope, routes, None);
        self
    }

    /// Declares the routes of one path that accept bodies of up to `body_bytes_max`, whatever the listener accepts.
    #[must_use]
    pub fn route_with_body(
        mut self,
        required_scope: RequiredScope,
        routes: UtoipaMethodRouter<App>,
        body_bytes_max: usize,
    ) -> Api {
        self.declare(required_scope, routes, Some(body_bytes_max));
        self
    }

    /// Declares one hot route, made by [`fast_route!`](crate::fast_route), which is also served on
    /// the fast path. Its handler reads path parameters with
    /// [`PathParams`](crate::extract::PathParams), because axum's are filled by its router.
    #[must_use]
    pub fn fast_route<H, T>(
        mut self,
        required_scope: RequiredScope,
        (routes, handler): (UtoipaMethodRouter<App>, H),
    ) -> Api
    where
        H: Handler<T, App>,
        T: 'static,
    {
        let methods: Vec<Method> = routes.1.paths.values().flat_map(methods).collect();
        let declared = self.declare(required_scope, routes, None);
        let fast_route = match (methods.as_slice(), declared) {
            ([method], Some(declared)) => FastRoute::new(method.clone(), declared, handler),
            _ => None,
        };
        if fast_route.is_none() {
            let path = declared.map(|declared| declared.path);
            self.mistakes.push(format!("{path:?} with {methods:?} cannot have a fast path"));
        }
        self.fast_routes.extend(fast_route);
        self
    }

    /// Adds routes behind `authorize`; returns the last one.
    fn declare(
        &mut self,
        required_scope: RequiredScope,
        routes: UtoipaMethodRouter<App>,
        body_bytes_max: Option<usize>,
    ) -> Option<DeclaredRoute> {
        let (schemas, mut paths, mut handlers) = routes;
        self.check_names(&schemas);
        let mut last = None;
        for (path, item) in &mut paths.paths {
            if let Some(missing) =
                required_scope.parameter().filter(|name| !path.contains(&format!("{{{name}}}")))
            {
                self.mistakes
                    .push(format!("{path} requires {required_scope:?} but has no {{{missing}}}"));
            }
            operations(item).for_each(|each| describe(each, path, required_scope));
            // Routes are declared once and live as long as the process.
            let path: &'static str = Box::leak(path.clone().into_boxed_str());
            let metrics = self.app.metrics().route(path);
            let declared = DeclaredRoute { path, required_scope, metrics, body_bytes_max };
            last = Some(declared);
            let app = self.app.clone();
            // The future of `authorize` is boxed once, by the route that axum makes of it.
            handlers = handlers.route_layer(layer_fn(move |handler: Route| {
                let app = app.clone();
                service_fn(move |request: Request| {
                    let handler = handler.clone();
                    let call = |_: App, request: Request| async move {
                        let Ok(response) = handler.oneshot(request).await;
                        response
                    };
                    let response = authorize(app.clone(), declared, request, call);
                    async move { Ok::<_, Infallible>(response.await) }
                })
            }));
        }
        let router = std::mem::take(&mut self.router);
        self.router = router.routes((schemas, paths, handlers));
        last
    }

    /// The names of schemas are those of all services: a second one of the same name would replace the first.
    fn check_names(&mut self, schemas: &[(String, RefOr<Schema>)]) {
        let known = self.router.get_openapi().components.as_ref().map(|known| &known.schemas);
        let differs = |name: &String, schema| {
            known.and_then(|known| known.get(name)).is_some_and(|known| known != schema)
        };
        let differing = schemas.iter().filter(|(name, schema)| differs(name, schema));
        let mistake = |name: &String| format!("two different schemas have the name {name}");
        self.mistakes.extend(differing.map(|(name, _)| mistake(name)).collect::<Vec<_>>());
    }

    /// The mistakes in declarations, for tests. A route whose path lacks the tenant is served to the
    /// operator only.
    #[must_use]
    pub fn mistakes(&self) -> Vec<String> {
        let dangling = dangling(self.router.get_openapi());
        let dangling = dangling
            .iter()
            .map(|reference| format!("the description lacks {reference}, to which it refers"));
        self.mistakes.iter().cloned().chain(dangling).collect()
    }

    pub(crate) fn finish(self) -> (Router<App>, Vec<FastRoute>, OpenApi) {
        for mistake in self.mistakes() {
            tracing::error!(mistake, "a route declaration has a mistake");
        }
        let (router, mut description) = self.router.split_for_parts();
        links::connect(&mut description);
        (router, self.fast_routes, description)
    }
}

/// The methods of a path that can have a fast path.
fn methods(item: &PathItem) -> impl Iterator<Item = Method> {
    let methods = [(Method::GET, &item.get), (Method::POST, &item.post), (Method::PUT, &item.put)];
    methods.into_iter().filter(|(_, operation)| operation.is_some()).map(|(method, _)| method)
}

/// Names a handler for [`Api::fast_route`]: its OpenAPI route and the handler itself.
#[macro_export]
macro_rules! fast_route {
    ($($handler:tt)+) => {
        ($crate::prelude::routes!($($handler)+), $($handler)+)
    };
}

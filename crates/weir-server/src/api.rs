//! Declaring routes. A route is declared with what it needs of its caller: there is no other way.

use axum::Router;
use axum::extract::Request;
use axum::routing::Route;
use tower::layer::layer_fn;
use tower::service_fn;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::app::App;
use crate::description::{dangling, describe, frame, operations};
use crate::guard::{Declared, guard};
use crate::links;
use crate::need::Need;

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
            operations(item).for_each(|operation| describe(operation, path, need));
            // Routes are declared once in a process's life; their names are kept for as long.
            let path: &'static str = Box::leak(path.clone().into_boxed_str());
            let (app, declared) = (self.app.clone(), Declared { path, need });
            // The guard's future is boxed once, by the route that axum makes of it.
            handlers = handlers.route_layer(layer_fn(move |handler: Route| {
                let app = app.clone();
                service_fn(move |request: Request| {
                    guard(app.clone(), declared, handler.clone(), request)
                })
            }));
        }
        self.router = self.router.routes((schemas, paths, handlers));
        self
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

    pub(crate) fn finish(self) -> (Router<App>, OpenApi) {
        for mistake in self.mistakes() {
            tracing::error!(mistake, "a route is declared wrongly");
        }
        let (router, mut description) = self.router.split_for_parts();
        links::connect(&mut description);
        (router, description)
    }
}

//! The fast path of the hottest routes: it calls the handler without axum's router.
//!
//! A fast route is declared once, like any other ([`Api::fast_route`](crate::Api::fast_route)):
//! method, path, required scope and handler of the fast path come from that declaration, and
//! [`authorize`] runs before the handler as everywhere. The fast path takes every request whose path
//! has no percent-encoding; the router serves the rest with the same handler.
//! Why: `docs/adr/0024-fast-path.md`.

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::http::{Method, Uri};
use axum::response::Response;

use crate::app::App;
use crate::authorize::{DeclaredRoute, authorize};

/// The most parameters in the path of a fast route.
const PARAMETERS_MAX: usize = 3;

/// The response to a request on the fast path.
pub(super) type FastResponse = Pin<Box<dyn Future<Output = Response> + Send>>;

type Call = Arc<dyn Fn(App, Request) -> FastResponse + Send + Sync>;

/// A route with a fast path.
#[derive(Clone)]
pub(crate) struct FastRoute {
    method: Method,
    pattern: PathPattern,
    call: Call,
}

impl std::fmt::Debug for FastRoute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FastRoute").field("pattern", &self.pattern).finish_non_exhaustive()
    }
}

impl FastRoute {
    /// None if the path has more than [`PARAMETERS_MAX`] parameters.
    pub(crate) fn new<H, T>(method: Method, route: DeclaredRoute, handler: H) -> Option<FastRoute>
    where
        H: Handler<T, App>,
        T: 'static,
    {
        let pattern = PathPattern::parse(route.path);
        let call = move |app: App, request: Request| {
            route.metrics.count_fast_path();
            let handler = handler.clone();
            let call = |app: App, request: Request| handler.call(request, app);
            Box::pin(authorize(app, route, request, call)) as FastResponse
        };
        let is_short = pattern.parameters.len() <= PARAMETERS_MAX;
        is_short.then(|| FastRoute { method, pattern, call: Arc::new(call) })
    }

    /// Runs the handler. The request's context has its path parameters.
    pub(super) fn call(&self, app: &App, request: Request) -> FastResponse {
        (self.call)(app.clone(), request)
    }
}

/// The fast route of a request and its path parameters.
pub(super) fn find<'r>(
    routes: &'r [FastRoute],
    method: &Method,
    uri: &Uri,
) -> Option<(&'r FastRoute, ParamSpans)> {
    let mut routes = routes.iter().filter(|route| route.method == method);
    routes.find_map(|route| Some((route, route.pattern.matches(uri.path())?)))
}

/// A declared path: `/v1/namespaces/{ns}/acquire`.
#[derive(Debug, Clone)]
struct PathPattern {
    /// The parameters, each with the literal text before it.
    parameters: Vec<(&'static str, &'static str)>,
    /// The literal text after the last parameter.
    end: &'static str,
}

impl PathPattern {
    fn parse(path: &'static str) -> PathPattern {
        let (mut parameters, mut end) = (Vec::new(), path);
        while let Some((before, rest)) = end.split_once('{')
            && let Some((name, after)) = rest.split_once('}')
        {
            parameters.push((before, name));
            end = after;
        }
        PathPattern { parameters, end }
    }

    /// The parameters of a path that matches. A path with a percent sign never does.
    fn matches(&self, path: &str) -> Option<ParamSpans> {
        let mut spans = ParamSpans::default();
        let mut rest = path;
        for (span, &(before, name)) in spans.0.iter_mut().zip(&self.parameters) {
            rest = rest.strip_prefix(before)?;
            let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'%'));
            let length = end.unwrap_or(rest.len());
            let from = path.len() - rest.len();
            *span = (length > 0).then_some((name, from, from + length));
            span.as_ref()?;
            rest = rest.get(length..)?;
        }
        (rest == self.end).then_some(spans)
    }
}

/// Path parameters, by name and position in the path.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParamSpans([Option<(&'static str, usize, usize)>; PARAMETERS_MAX]);

impl ParamSpans {
    /// The parameters of `path`, which these spans were matched in.
    pub(crate) fn iter<'p>(&self, path: &'p str) -> impl Iterator<Item = (&'static str, &'p str)> {
        let spans = self.0.iter().flatten();
        spans.filter_map(move |(name, from, to)| Some((*name, path.get(*from..*to)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(path: &str) -> Option<Vec<(&str, &str)>> {
        let pattern = PathPattern::parse("/v1/namespaces/{ns}/leases/{lease}/commit");
        Some(pattern.matches(path)?.iter(path).collect())
    }

    #[test]
    fn only_paths_with_the_same_segments_match() {
        let found = parameters("/v1/namespaces/default/leases/abc_-/commit");
        assert_eq!(found, Some(vec![("ns", "default"), ("lease", "abc_-")]));
        for other in [
            "",
            "/",
            "*",
            "v1/namespaces/default/leases/abc/commit",
            "/v1/namespaces/default/leases/abc",
            "/v1/namespaces/default/leases/abc/commit/",
            "/v1/namespaces/default/leases/abc/commit/more",
            "/v1/namespaces//leases/abc/commit",
            "/v1/namespaces/default/leases//commit",
            "/v1/namespaces/default/leases/a/b/commit",
            "/V1/namespaces/default/leases/abc/commit",
            "/v1/namespaces/default%20/leases/abc/commit",
            "/v1/namespaces/default/leases/abc%/commit",
            "/v1/namespaces/default/leases/abc/%63ommit",
        ] {
            assert_eq!(parameters(other), None, "{other}");
        }
    }
}

//! The short way of the few routes that are asked tens of thousands of times a second.
//!
//! Such a route is declared like any other, and its handler for the short way with it: path, method and need are
//! those of the one declaration, and the guard is the same. What is plain goes this way, in one boxed future: a
//! path without percent signs, without a query, and nobody who wants the answer packed. All else goes the long
//! way, through the router, and is answered alike.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use serde::de::DeserializeOwned;

use super::Visit;
use crate::app::App;
use crate::auth::Identity;
use crate::authorize::{self, Authorized, DeclaredRoute};
use crate::error::ApiError;
use crate::extract;

/// Parameters that a path on the short way has at most.
const PARAMETERS_MAX: usize = 3;

/// An answer on its short way.
pub(super) type Travelling = Pin<Box<dyn Future<Output = Result<Response, ApiError>> + Send>>;

type Start = Arc<dyn Fn(App, Asked, Sent) -> Travelling + Send + Sync>;

/// A route that has a short way.
#[derive(Clone)]
pub(crate) struct Express {
    method: Method,
    path: Pattern,
    start: Start,
}

impl std::fmt::Debug for Express {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Express").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A declared path.
#[derive(Debug, Clone)]
struct Pattern {
    /// Its parameters, each with what stands before it.
    parameters: Vec<(&'static str, &'static str)>,
    /// What stands after the last of them.
    end: &'static str,
}

/// The parameters of a path, by where they stand in it.
type Places = [Option<(&'static str, usize, usize)>; PARAMETERS_MAX];

impl Pattern {
    fn of(path: &'static str) -> Pattern {
        let (mut parameters, mut end) = (Vec::new(), path);
        while let Some((before, rest)) = end.split_once('{')
            && let Some((name, after)) = rest.split_once('}')
        {
            parameters.push((before, name));
            end = after;
        }
        Pattern { parameters, end }
    }

    /// Where the parameters of a plain path stand, if it is one of these. No parameter reaches beyond a percent sign,
    /// and none is followed by one here, so a path that has one is none of these.
    fn matches(&self, path: &str) -> Option<Places> {
        let mut places = Places::default();
        let mut rest = path;
        for (place, &(before, name)) in places.iter_mut().zip(&self.parameters) {
            rest = rest.strip_prefix(before)?;
            let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'%'));
            let length = end.unwrap_or(rest.len());
            let from = path.len() - rest.len();
            *place = (length > 0).then_some((name, from, from + length));
            place.as_ref()?;
            rest = rest.get(length..)?;
        }
        (rest == self.end).then_some(places)
    }
}

impl Express {
    /// The short way of a declared route; none where its path has more parameters than are kept.
    pub(crate) fn new<H, F, E>(
        method: Method,
        declared: DeclaredRoute,
        handler: H,
    ) -> Option<Express>
    where
        H: Fn(App, Asked, Sent) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Response, E>> + Send + 'static,
        E: Into<ApiError> + 'static,
    {
        let path = Pattern::of(declared.path);
        let is_kept = path.parameters.len() <= PARAMETERS_MAX;
        let start = move |app, asked, sent| {
            // Made where it stays: to move it there would copy all the room that it may need later.
            let room = Box::new_uninit();
            let travelling = Box::write(room, travel(app, declared, asked, sent, handler.clone()));
            Box::into_pin(travelling) as Travelling
        };
        let express = Express { method, path, start: Arc::new(start) };
        is_kept.then_some(express)
    }
}

/// The short way of a request.
pub(super) struct Found<'w> {
    start: &'w Start,
    places: Places,
}

/// Finds the short way of a request, if it has one.
pub(super) fn find<'w>(ways: &'w [Express], request: &Request) -> Option<Found<'w>> {
    let (method, uri) = (request.method(), request.uri());
    if uri.query().is_some() {
        return None;
    }
    ways.iter().filter(|way| way.method == method).find_map(|way| {
        let places = way.path.matches(uri.path())?;
        Some(Found { start: &way.start, places })
    })
}

impl Found<'_> {
    /// Starts the request on it.
    pub(super) fn start(
        self,
        app: &App,
        visit: &Visit,
        body_bytes_max: usize,
        request: Request,
    ) -> Travelling {
        let (parts, body) = request.into_parts();
        let asked = Asked(Box::new(Head { parts, places: self.places, visit: visit.clone() }));
        (self.start)(app.clone(), asked, Sent { body, body_bytes_max })
    }
}

/// Runs `handler` for a request whose caller may ask for it.
async fn travel<H, F, E>(
    app: App,
    declared: DeclaredRoute,
    asked: Asked,
    sent: Sent,
    handler: H,
) -> Result<Response, ApiError>
where
    H: Fn(App, Asked, Sent) -> F,
    F: Future<Output = Result<Response, E>>,
    E: Into<ApiError>,
{
    let find = |name: &str| asked.parameter(name);
    let (caller, checked) =
        authorize::check(&app, declared.required_scope, &asked.0.parts, find).await;
    asked.0.visit.pass(Authorized::new(declared.metrics, caller));
    checked?;
    handler(app, asked, sent).await.map_err(Into::into)
}

/// A request on its short way, as its handler sees it. Boxed, because it is handed on some times.
#[derive(Debug)]
pub struct Asked(Box<Head>);

#[derive(Debug)]
struct Head {
    parts: Parts,
    places: Places,
    visit: Visit,
}

impl Asked {
    /// The parameter `{name}` of the path.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut known = self.0.places.iter().flatten();
        let (_, from, to) = known.find(|(known, ..)| *known == name)?;
        self.0.parts.uri.path().get(*from..*to)
    }

    /// What was sent beside the body.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.parts.headers
    }

    /// Who asks.
    pub fn caller(&self) -> Option<&Arc<Identity>> {
        self.0.visit.passed().and_then(Authorized::caller)
    }
}

/// The body of a request on its short way.
#[derive(Debug)]
pub struct Sent {
    body: Body,
    body_bytes_max: usize,
}

impl Sent {
    /// The body, a JSON object, as [`extract::Body`] reads it.
    pub async fn object<T: DeserializeOwned>(self, asked: &Asked) -> Result<T, ApiError> {
        extract::check_json(asked.headers())?;
        let bytes = extract::whole(self.body, self.body_bytes_max).await?;
        extract::object(&bytes)
    }

    /// The same of one that may be left out, or `null`.
    pub async fn object_or_none<T: DeserializeOwned>(
        self,
        asked: &Asked,
    ) -> Result<Option<T>, ApiError> {
        if extract::is_left_out(asked.headers(), &self.body) {
            return Ok(None);
        }
        self.object(asked).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str) -> Option<Vec<&str>> {
        let declared = Pattern::of("/v1/namespaces/{ns}/leases/{lease}/commit");
        let places = declared.matches(path)?.into_iter().flatten();
        Some(places.map(|(_, from, to)| &path[from..to]).collect())
    }

    #[test]
    fn only_paths_of_the_same_parts_have_the_short_way() {
        let found = places("/v1/namespaces/default/leases/abc_-/commit");
        assert_eq!(found, Some(vec!["default", "abc_-"]));
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
            assert_eq!(places(other), None, "{other}");
        }
    }
}

//! The files of the console: the page, which every path of a section returns, and what it loads.
//!
//! The binary contains them compressed, the modules joined into one file. With `WEIR_CONSOLE_SOURCE=1`, a debug build reads those of
//! its source folder instead, so that a change shows at the next reload. A browser asks for the page again each time. The page names
//! its files with their version, `/assets/VERSION/…`, so a browser keeps those, and an upgraded server does not mix two versions.

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use weir_framework::app::App;
use weir_framework::extract::Path;
use weir_framework::packed::packed_response;
use weir_framework::{ApiError, Code};

/// The pages may run only scripts and styles of their own files, connect only to their own server, and be in no frame.
const POLICY: &str = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'";
/// The sections beside the overview: the first segments of their paths. The page application knows the rest.
const SECTIONS: [&str; 5] = ["budgets", "limits", "reviews", "practice", "settings"];
/// The page of every section.
const INDEX: &str = "index.html";
/// A file that may have changed when it is asked for again.
const CHECKED: &str = "no-cache";
/// A file whose address has its version.
const KEPT: &str = "public, max-age=31536000, immutable";

/// A file.
struct Asset {
    /// Path below the console's folder.
    path: &'static str,
    /// The `ETag`: a hash of the content.
    tag: &'static str,
    /// Content, compressed with gzip.
    packed: &'static [u8],
}

static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));
/// The version of all files together, as it is in their addresses.
const VERSION: &str = include!(concat!(env!("OUT_DIR"), "/assets_version.rs"));

/// The routes of the page and of its files.
pub(super) fn pages() -> Router<App> {
    let page = get(async |headers: HeaderMap| page(&headers));
    let pages = Router::new().route("/", page.clone()).route("/assets/{*path}", get(file));
    SECTIONS.iter().fold(pages, |pages, section| {
        pages
            .route(&format!("/{section}"), page.clone())
            .route(&format!("/{section}/{{*rest}}"), page.clone())
    })
}

/// The page, for browsers. Programs, which do not ask for HTML, get the 404 of any unknown path.
fn page(headers: &HeaderMap) -> Result<Response, ApiError> {
    if !accepts_html(headers) {
        return Err(ApiError::new(Code::NOT_FOUND, "no route matches this path"));
    }
    let mut response = respond(INDEX, CHECKED, headers)?;
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// A file. One of another version, which a page from before an upgrade names, is that of this version.
async fn file(Path(path): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    match path.split_once('/') {
        Some((VERSION, path)) => respond(path, KEPT, &headers),
        Some((version, path)) if is_version(version) => respond(path, CHECKED, &headers),
        _ => respond(&path, CHECKED, &headers),
    }
}

fn is_version(text: &str) -> bool {
    text.len() == VERSION.len() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether the client names HTML, as browsers do.
fn accepts_html(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    named.flat_map(|value| value.split(',')).any(|kind| {
        let (kind, quality) = kind.split_once(';').unwrap_or((kind, ""));
        kind.trim().eq_ignore_ascii_case("text/html") && quality.trim() != "q=0"
    })
}

/// The response with a file, or that the browser has it already.
fn respond(path: &str, caching: &'static str, request: &HeaderMap) -> Result<Response, ApiError> {
    let missing = || ApiError::new(Code::NOT_FOUND, "the console has no such file");
    let kind = content_type(path).ok_or_else(missing)?;
    if let Some(response) = source::read(path) {
        return Ok((fixed(kind, CHECKED), response).into_response());
    }
    let asset = ASSETS.iter().find(|asset| asset.path == path).ok_or_else(missing)?;
    let tag = [(header::ETAG, HeaderValue::from_static(asset.tag))];
    let held = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let mut held = held.flat_map(|tags| tags.split(','));
    if held.any(|held| held.trim().trim_start_matches("W/") == asset.tag) {
        return Ok((StatusCode::NOT_MODIFIED, fixed(kind, caching), tag).into_response());
    }
    let vary = [(header::VARY, HeaderValue::from_static("accept-encoding"))];
    Ok((fixed(kind, caching), tag, vary, packed_response(asset.packed, request)?).into_response())
}

/// The headers of every file.
fn fixed(kind: &'static str, caching: &'static str) -> [(HeaderName, HeaderValue); 6] {
    [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, caching),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ]
    .map(|(name, value)| (name, HeaderValue::from_static(value)))
}

/// The content type of a file by its name; none for a name that no file of the console has.
fn content_type(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    Some(match name.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "js" | "mjs")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        Some((_, "png")) => "image/png",
        Some((_, "ico")) => "image/x-icon",
        Some((_, "json")) => "application/json",
        Some((_, "md" | "txt")) | None => "text/plain; charset=utf-8",
        _ => return None,
    })
}

/// The source folder of a debug build, for people who write pages.
#[cfg(debug_assertions)]
mod source {
    use std::path::Path;

    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/console");

    /// The content of a file; none if there is no such file, or it was not asked for.
    pub(super) fn read(path: &str) -> Option<Vec<u8>> {
        std::env::var_os("WEIR_CONSOLE_SOURCE")?;
        let is_plain = |part: &str| !part.is_empty() && !part.starts_with('.');
        path.split('/').all(is_plain).then(|| std::fs::read(Path::new(FOLDER).join(path)).ok())?
    }
}

/// A release build has no source folder.
#[cfg(not(debug_assertions))]
mod source {
    pub(super) fn read(_: &str) -> Option<Vec<u8>> {
        None
    }
}

// Part of the build script: its tests run with those of this crate.
#[cfg(test)]
#[path = "../../build/bundle.rs"]
mod bundle;

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: axum::http::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn browsers_get_the_page_and_programs_do_not() {
        for (accept, expected) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("Text/HTML", true),
            ("text/html;q=0", false),
            ("application/json", false),
            ("*/*", false),
        ] {
            assert_eq!(accepts_html(&asked(header::ACCEPT, accept)), expected, "{accept}");
        }
        assert!(!accepts_html(&HeaderMap::new()));
    }

    #[test]
    fn every_file_has_a_type_and_nothing_outside_is_read() {
        for asset in ASSETS {
            assert!(content_type(asset.path).is_some(), "{}", asset.path);
        }
        for outside in
            ["", "../Cargo.toml", "app/../../Cargo.toml", "/etc/passwd", ".git", "none.js"]
        {
            assert!(respond(outside, CHECKED, &HeaderMap::new()).is_err(), "{outside}");
        }
    }

    #[test]
    fn the_page_needs_nothing_that_its_policy_forbids() {
        let page = include_str!("../../console/index.html");
        for forbidden in ["<style", " style=", " onclick", "http://", "https://", "javascript:"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        let scripts = page.split("<script").skip(1);
        scripts.for_each(|script| assert!(script.split('>').next().unwrap().contains("src=")));
    }

    #[test]
    fn the_console_is_small() {
        // Licences are for people, and no page loads them.
        let loaded = ASSETS.iter().filter(|asset| !asset.path.contains("LICENSE"));
        let bytes: usize = loaded.map(|asset| asset.packed.len()).sum();
        assert!(bytes < 150 * 1024, "{bytes} bytes compressed");
    }
}

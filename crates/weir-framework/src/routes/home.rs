//! The page at `/`: what this server is, and where to go. Programs, which do not ask for HTML, get the 404 of any unknown path.

use std::sync::LazyLock;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};

use crate::{ApiError, Code};

static PAGE: LazyLock<String> =
    LazyLock::new(|| include_str!("home.html").replace("VERSION", env!("CARGO_PKG_VERSION")));

/// The page may use its own style and nothing else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = style(&PAGE).unwrap_or_default();
    let hash = STANDARD.encode(digest(&SHA256, style.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

pub(crate) async fn page(headers: HeaderMap) -> Result<Response, ApiError> {
    if !accepts_html(&headers) {
        return Err(ApiError::new(Code::NOT_FOUND, "no route matches this path"));
    }
    let header = |name: &'static str, value: &'static str| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    let fixed = [
        header("content-type", "text/html; charset=utf-8"),
        header("vary", "accept"),
        header("x-content-type-options", "nosniff"),
        header("referrer-policy", "no-referrer"),
    ];
    let policy =
        HeaderValue::from_str(&POLICY).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let policy = [(HeaderName::from_static("content-security-policy"), policy)];
    Ok((fixed, policy, PAGE.as_str()).into_response())
}

/// Whether the client names HTML, as browsers do.
fn accepts_html(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    named.flat_map(|value| value.split(',')).any(|kind| {
        let (kind, quality) = kind.split_once(';').unwrap_or((kind, ""));
        kind.trim().eq_ignore_ascii_case("text/html") && quality.trim() != "q=0"
    })
}

/// What stands between the tags of the style.
fn style(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("<style>")?;
    rest.split_once("</style>").map(|(style, _)| style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_that_its_policy_forbids() {
        assert!(style(&PAGE).is_some_and(|style| style.len() > 100));
        for outside in ["<script", "src=", "http://", "@import", "url(", " style=", "onclick"] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
        assert!(PAGE.len() < 8_000 && !PAGE.contains("VERSION"), "{}", PAGE.len());
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
            let headers =
                HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(accepts_html(&headers), expected, "{accept}");
        }
        assert!(!accepts_html(&HeaderMap::new()));
    }
}

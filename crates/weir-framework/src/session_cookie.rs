//! The cookie of a console session: its attributes, and whether its connection is encrypted.
//!
//! Over TLS the name begins with `__Host-`: browsers accept such a cookie only from this very host, so that no other host of
//! the domain can plant one. It ends with an id of the store, because cookies do not tell ports apart: a person may use two
//! servers of one host at the same time. Instances that share a store share the name, whatever host or port a proxy shows them.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use weir_table::{Backend, Error, Store};

use crate::edge::RequestContext;
use crate::networks::Networks;
use crate::{ApiError, Code};

/// Label under which the id in the name is derived from the store's key.
const STORE_ID: &str = "weir-console: cookie";
/// Prefix of the name without TLS; the id of the store follows.
pub(crate) const PLAIN: &str = "weir_session_";
const SECURE: &str = "__Host-";
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// Longest header with cookies that is searched, in bytes; a session needs an eighth of it.
const COOKIES_BYTES_MAX: usize = 64 * 1024;

/// Whether the client's connection is encrypted, as far as the server or a trusted proxy knows.
#[derive(Debug, Clone, Copy)]
pub struct SecureConnection(pub bool);

impl<S: Send + Sync> FromRequestParts<S> for SecureConnection {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<SecureConnection, Infallible> {
        let context = parts.extensions.get::<RequestContext>();
        Ok(SecureConnection(context.is_some_and(RequestContext::is_secure)))
    }
}

/// The cookie of sessions of one store.
#[derive(Debug)]
pub struct SessionCookie {
    plain: String,
    secure: String,
}

impl SessionCookie {
    /// The cookie of sessions of `store`.
    ///
    /// # Errors
    /// As [`Store::derived_key`].
    pub(crate) fn of<B: Backend>(store: &Store<B>) -> Result<SessionCookie, Error> {
        let [a, b, c, d, ..] = store.derived_key(STORE_ID)?;
        Ok(SessionCookie::named(&format!("{:08x}", u32::from_be_bytes([a, b, c, d]))))
    }

    fn named(store_id: &str) -> SessionCookie {
        let plain = format!("{PLAIN}{store_id}");
        SessionCookie { secure: format!("{SECURE}{plain}"), plain }
    }

    fn name(&self, is_secure: bool) -> &str {
        if is_secure { &self.secure } else { &self.plain }
    }

    /// The cookie's value, if the request has one.
    ///
    /// # Errors
    /// The request has two of them, and it is not known which one is meant.
    pub(crate) fn value<'h>(
        &self,
        headers: &'h HeaderMap,
        is_secure: bool,
    ) -> Result<Option<&'h str>, ApiError> {
        let wanted = self.name(is_secure);
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs =
            lines.filter(|line| line.len() <= COOKIES_BYTES_MAX).flat_map(|line| line.split(';'));
        let mut values = pairs.filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == wanted && !value.is_empty()).then_some(value)
        });
        match (values.next(), values.next()) {
            (first, None) => Ok(first),
            (_, Some(_)) => {
                let detail = format!("the cookie {wanted} was sent more than once");
                Err(ApiError::new(Code::UNAUTHORIZED, detail))
            }
        }
    }

    /// The header that sets the cookie for some seconds; 0 removes it.
    ///
    /// # Errors
    /// The value is not that of a cookie.
    pub fn set(
        &self,
        value: &str,
        max_age_secs: u64,
        is_secure: bool,
    ) -> Result<HeaderValue, ApiError> {
        let (name, secure) = (self.name(is_secure), if is_secure { "; Secure" } else { "" });
        let text = format!(
            "{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age_secs}{secure}"
        );
        let mut header = HeaderValue::from_str(&text).map_err(|error| {
            ApiError::new(Code::INTERNAL_ERROR, "the session cannot be opened")
                .because(error.to_string())
        })?;
        header.set_sensitive(true);
        Ok(header)
    }
}

/// Whether the trusted proxy at `peer` reports that its client uses TLS.
pub(crate) fn is_forwarded_https(
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    trusted: &Networks,
) -> bool {
    let Some(reported) = headers.get(X_FORWARDED_PROTO) else { return false };
    let last = reported.to_str().unwrap_or_default().rsplit(',').next().unwrap_or_default();
    last.trim().eq_ignore_ascii_case("https") && peer.is_some_and(|peer| trusted.contains(peer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(HeaderName, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn the_one_cookie_of_the_connection_counts() {
        let cookie = |text| headers(&[(header::COOKIE, text)]);
        let session = SessionCookie::named("7");
        for (text, is_secure, expected) in [
            ("weir_session_7=a.b", false, Some("a.b")),
            ("theme=dark; weir_session_7=a ", false, Some("a")),
            ("weir_session_8=b; weir_session_7=a; weir_session=c", false, Some("a")),
            ("weir_session_8=b", false, None),
            ("weir_session=c", false, None),
            ("weir_session_7=a", true, None),
            ("weir_session_7=a; __Host-weir_session_7=b", true, Some("b")),
            ("weir_session_7=", false, None),
            ("other=weir_session_7=a", false, None),
            ("", false, None),
        ] {
            let cookies = cookie(text);
            let found = session.value(&cookies, is_secure);
            assert_eq!(found.ok().unwrap(), expected, "{text}");
        }
        let twice = cookie("weir_session_7=a; weir_session_7=b");
        assert!(session.value(&twice, false).is_err());
        let lines = [(header::COOKIE, "weir_session_7=a"), (header::COOKIE, "weir_session_7=a")];
        assert!(session.value(&headers(&lines), false).is_err());
    }

    #[test]
    fn the_cookie_is_for_this_server_and_no_script() {
        let session = SessionCookie::named("7");
        let plain = session.set("a.b", 60, false).ok().unwrap();
        let expected = "weir_session_7=a.b; Path=/; HttpOnly; SameSite=Strict; Max-Age=60";
        assert_eq!(plain.to_str().unwrap(), expected);
        assert!(plain.is_sensitive());
        let secure = session.set("a.b", 60, true).ok().unwrap();
        assert_eq!(secure.to_str().unwrap(), format!("__Host-{expected}; Secure"));
        assert!(session.set("a\nb", 60, true).is_err());
    }

    #[test]
    fn only_a_trusted_proxy_says_that_the_client_uses_tls() {
        let trusted = Networks::parse(&["10.0.0.0/8"]).unwrap();
        let (proxy, other) = ("10.0.0.1".parse().ok(), "192.0.2.1".parse().ok());
        for (peer, value, expected) in [
            (proxy, "https", true),
            (proxy, "http, HTTPS", true),
            (proxy, "https, http", false),
            (other, "https", false),
            (None, "https", false),
        ] {
            let headers = headers(&[(X_FORWARDED_PROTO, value)]);
            assert_eq!(is_forwarded_https(peer, &headers, &trusted), expected, "{value}");
        }
        assert!(!is_forwarded_https(proxy, &HeaderMap::new(), &trusted));
    }
}

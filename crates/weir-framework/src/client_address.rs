//! The address of the client that sent a request, for rate limits and the log.
//!
//! It is the peer's address. If the peer is a trusted proxy (`server.trusted_proxies`), it is the last address in `Forwarded`
//! (RFC 7239) or `X-Forwarded-For` that is not a trusted proxy itself: everything left of that is only the client's claim.
//! A malformed header, or two headers that disagree, count as none, so that a client behind a proxy that sets one header
//! cannot choose its address with the other. A configured header ([`ForwardedHeader`]) is read alone: then such a client
//! cannot hide its address either.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use serde::{Deserialize, Serialize};

use crate::edge::RequestContext;
use crate::networks::Networks;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Longest list of addresses, in bytes, over all lines of the header.
const HEADER_BYTES_MAX: usize = 2_048;

/// The header in which trusted proxies report the client's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedHeader {
    /// Either; both if they agree.
    #[default]
    Any,
    /// `Forwarded` (RFC 7239).
    Forwarded,
    /// `X-Forwarded-For`.
    XForwardedFor,
}

/// The address of the client; none for a request through the socket of the data folder.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress(pub Option<IpAddr>);

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<ClientAddress, Infallible> {
        let context = parts.extensions.get::<RequestContext>();
        Ok(ClientAddress(context.and_then(RequestContext::client_address)))
    }
}

/// Bits of an IPv6 address that name a host within its site.
const HOST_BITS: u128 = u64::MAX as u128;

/// The address that a bound per client counts: of IPv6 the /64 network, because one client has all of its addresses.
#[must_use]
pub fn site(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !HOST_BITS).into(),
        address => address,
    }
}

/// A header that does not have the form of a list of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Malformed;

/// The address of the client whose request came from `peer`.
pub(crate) fn client_address(
    peer: IpAddr,
    headers: &HeaderMap,
    trusted: &Networks,
    header: ForwardedHeader,
) -> IpAddr {
    let peer = peer.to_canonical();
    if !trusted.contains(peer) {
        return peer;
    }
    let reported = match header {
        ForwardedHeader::Any => reported(headers, trusted),
        ForwardedHeader::Forwarded => in_forwarded(headers, trusted),
        ForwardedHeader::XForwardedFor => in_x_forwarded_for(headers, trusted),
    };
    reported.ok().flatten().unwrap_or(peer)
}

/// The address that the proxy reports in either header, if it reports one.
fn reported(headers: &HeaderMap, trusted: &Networks) -> Result<Option<IpAddr>, Malformed> {
    match (in_forwarded(headers, trusted)?, in_x_forwarded_for(headers, trusted)?) {
        (Some(one), Some(other)) if one != other => Err(Malformed),
        (one, other) => Ok(one.or(other)),
    }
}

fn in_forwarded(headers: &HeaderMap, trusted: &Networks) -> Result<Option<IpAddr>, Malformed> {
    let Some(text) = joined(headers, &header::FORWARDED)? else { return Ok(None) };
    first_untrusted(forwarded_nodes(&text)?.into_iter().rev(), trusted).map(Some)
}

fn in_x_forwarded_for(
    headers: &HeaderMap,
    trusted: &Networks,
) -> Result<Option<IpAddr>, Malformed> {
    let Some(text) = joined(headers, &X_FORWARDED_FOR)? else { return Ok(None) };
    first_untrusted(text.rsplit(',').map(node), trusted).map(Some)
}

/// The first address, from the nearest proxy outwards, that is not trusted; the outermost if all are.
fn first_untrusted(
    nodes: impl Iterator<Item = Option<IpAddr>>,
    trusted: &Networks,
) -> Result<IpAddr, Malformed> {
    let mut outermost = Err(Malformed);
    for node in nodes {
        let address = node.ok_or(Malformed)?;
        if !trusted.contains(address) {
            return Ok(address);
        }
        outermost = Ok(address);
    }
    outermost
}

/// All lines of a header as one list.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Malformed> {
    let mut list: Option<String> = None;
    for line in headers.get_all(name) {
        let line = line.to_str().map_err(|_| Malformed)?;
        let list = match &mut list {
            Some(list) => {
                list.push(',');
                list
            }
            None => list.insert(String::new()),
        };
        if list.len() + line.len() > HEADER_BYTES_MAX {
            return Err(Malformed);
        }
        list.push_str(line);
    }
    Ok(list)
}

/// The nodes of `Forwarded`; none for an element without an address, such as `for=unknown`.
fn forwarded_nodes(text: &str) -> Result<Vec<Option<IpAddr>>, Malformed> {
    let mut nodes = Vec::new();
    let mut rest = text;
    loop {
        let (node, after) = element(rest).ok_or(Malformed)?;
        nodes.push(node);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(nodes),
            None => return Err(Malformed),
        }
    }
}

/// The node of the first element, and the text after it: `for=192.0.2.1;proto=http, …`.
fn element(text: &str) -> Option<(Option<IpAddr>, &str)> {
    let mut found = None;
    let mut rest = text;
    loop {
        let (name, after) = rest.trim_start().split_once('=')?;
        let (value, after) = value(after)?;
        if name.eq_ignore_ascii_case("for") && found.replace(node(&value)).is_some() {
            return None;
        }
        if !name.bytes().all(is_token) || name.is_empty() {
            return None;
        }
        rest = after.trim_start();
        match rest.strip_prefix(';') {
            Some(next) => rest = next,
            None => return Some((found.flatten(), rest)),
        }
    }
}

/// A token or a quoted string, and the text after it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let length = text.bytes().take_while(|byte| is_token(*byte)).count();
        let (token, after) = text.split_at_checked(length)?;
        return (length > 0).then(|| (token.to_owned(), after));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, quoted.get(at + 1..)?)),
            '\\' => value.push(characters.next()?.1),
            _ => value.push(character),
        }
    }
    None
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The address of a node, with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bracketed = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = match bracketed {
        Some(address) => address.parse::<Ipv6Addr>().ok().map(IpAddr::from),
        None => {
            let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
            text.parse::<IpAddr>().ok().or_else(with_port)
        }
    };
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn client(peer: &str, lines: &[(&'static str, &str)]) -> String {
        client_by(ForwardedHeader::Any, peer, lines)
    }

    fn client_by(header: ForwardedHeader, peer: &str, lines: &[(&'static str, &str)]) -> String {
        let trusted = Networks::parse(&["10.0.0.0/8", "fd00::/8"]).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        client_address(peer.parse().unwrap(), &headers, &trusted, header).to_string()
    }

    #[test]
    fn a_peer_that_is_not_trusted_cannot_report_an_address() {
        for line in [("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=192.0.2.1")] {
            assert_eq!(client("203.0.113.9", &[line]), "203.0.113.9");
            assert_eq!(client("::ffff:203.0.113.9", &[line]), "203.0.113.9");
            assert_eq!(client(PROXY, &[line]), "192.0.2.1");
            assert_eq!(client("::ffff:10.0.0.1", &[line]), "192.0.2.1");
        }
        assert_eq!(client(PROXY, &[]), PROXY);
    }

    #[test]
    fn the_last_address_that_is_not_a_proxy_is_the_client() {
        for (list, expected) in [
            ("192.0.2.1", "192.0.2.1"),
            ("198.51.100.1, 192.0.2.1", "192.0.2.1"),
            ("198.51.100.1,192.0.2.1 , 10.9.9.9", "192.0.2.1"),
            ("not an address, 192.0.2.1:4711, 10.9.9.9", "192.0.2.1"),
            ("192.0.2.1, [2001:db8::1]:80", "2001:db8::1"),
            ("192.0.2.1, 2001:db8::1, fd00::7", "2001:db8::1"),
            ("10.3.3.3, 10.2.2.2", "10.3.3.3"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
        ] {
            assert_eq!(client(PROXY, &[("x-forwarded-for", list)]), expected, "{list}");
        }
        for (list, expected) in [
            ("for=192.0.2.1", "192.0.2.1"),
            ("For=192.0.2.1;proto=https;by=203.0.113.43", "192.0.2.1"),
            ("for=_hidden, for=192.0.2.1; host=\"a,b;for=x\" , for=10.1.1.1", "192.0.2.1"),
            ("for=\"[2001:db8::1]:4711\"", "2001:db8::1"),
            ("for=\"192.0.2.1:80\"", "192.0.2.1"),
        ] {
            assert_eq!(client(PROXY, &[("forwarded", list)]), expected, "{list}");
        }
        let lines = [("x-forwarded-for", "192.0.2.9"), ("x-forwarded-for", "192.0.2.1, 10.2.2.2")];
        assert_eq!(client(PROXY, &lines), "192.0.2.1");
    }

    #[test]
    fn a_malformed_header_counts_for_the_proxy() {
        let long = format!("{}192.0.2.1", "198.51.100.1,".repeat(200));
        for list in ["", ",", "192.0.2.1,", "unknown", "192.0.2.1, x", "1.2.3.4:x", "[::1", &long] {
            assert_eq!(client(PROXY, &[("x-forwarded-for", list)]), PROXY, "{list}");
        }
        for list in [
            "",
            "for",
            "for=",
            "for=unknown",
            "proto=http",
            "for=192.0.2.1,",
            "for=192.0.2.1 x",
            "for=192.0.2.1;for=192.0.2.2",
            "for=2001:db8::1",
            // What a client sends before a proxy appends its element, to hide that in a quoted string.
            "for=198.51.100.1;a=\", for=192.0.2.1",
            "for=198.51.100.1;a=\", for=\"[2001:db8::1]\"",
            "for=198.51.100.1;a=\"\\, for=\"[2001:db8::1]\"",
        ] {
            assert_eq!(client(PROXY, &[("forwarded", list)]), PROXY, "{list}");
        }
    }

    #[test]
    fn headers_that_disagree_count_for_the_proxy() {
        let usual = ("x-forwarded-for", "192.0.2.1");
        assert_eq!(client(PROXY, &[usual, ("forwarded", "for=198.51.100.1")]), PROXY);
        assert_eq!(client(PROXY, &[usual, ("forwarded", "for=192.0.2.1")]), "192.0.2.1");
    }

    #[test]
    fn a_configured_header_is_read_alone() {
        use ForwardedHeader::{Any, Forwarded, XForwardedFor};
        let (usual, other) = (("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=198.51.100.1"));
        for (header, lines, expected) in [
            (XForwardedFor, vec![usual, other], "192.0.2.1"),
            (XForwardedFor, vec![usual, ("forwarded", "malformed")], "192.0.2.1"),
            (XForwardedFor, vec![other], PROXY),
            (Forwarded, vec![usual, other], "198.51.100.1"),
            (Forwarded, vec![usual], PROXY),
            (Any, vec![usual, other], PROXY),
        ] {
            assert_eq!(client_by(header, PROXY, &lines), expected, "{header:?} {lines:?}");
            assert_eq!(client_by(header, "203.0.113.9", &lines), "203.0.113.9", "{header:?}");
        }
    }
}

//! Paths of files from the URIs of a SARIF file, and back.
//!
//! A relative URI is the path. A base with a relative URI goes before it; a base with an absolute one is where the
//! repository was on the machine of the tool, and is left out. An absolute `file:` URI loses the caller's root or such a base.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::document::ArtifactLocation;
use crate::bounds::PATH_MAX;

/// A colon would make the first part a scheme.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The base URIs of a run, by their names.
pub(super) type Bases = BTreeMap<String, ArtifactLocation>;

/// The path of a file as a URI.
pub(super) fn from_path(path: &str) -> String {
    let encoded = utf8_percent_encode(path, ENCODED).to_string();
    // `./` is left out when it is read.
    match encoded.strip_prefix("./") {
        Some(rest) => format!("%2E/{rest}"),
        None => encoded,
    }
}

/// The path of the file at `location`, without `root`; none if it has no URI.
pub(super) fn to_path(
    location: &ArtifactLocation,
    bases: &Bases,
    root: Option<&str>,
) -> Option<String> {
    let uri = location.uri.as_deref().filter(|uri| !uri.is_empty())?;
    let path = match file_path(uri) {
        Some(path) => return Some(below_a_root(&path, bases, root)),
        None if has_scheme(uri) => return Some(decoded(uri)),
        None => relative(uri),
    };
    let path = below_bases(path, location.uri_base_id.as_deref(), bases);
    Some(match root.and_then(|root| below(&path, root)) {
        Some(rest) => rest.to_owned(),
        None => path,
    })
}

/// Puts the relative bases before the path.
fn below_bases(path: String, base_id: Option<&str>, bases: &Bases) -> String {
    let mut path = path;
    let mut base = base_id.and_then(|id| bases.get(id));
    // Bases that name each other in a circle end here too.
    for _ in 0..bases.len() {
        let Some(ArtifactLocation { uri, uri_base_id, .. }) = base else { break };
        let uri = uri.as_deref().unwrap_or_default();
        // A longer path is refused later.
        if has_scheme(uri) || uri.starts_with('/') || path.len() > PATH_MAX {
            break;
        }
        let before = relative(uri);
        if !before.is_empty() {
            path = format!("{}/{path}", before.trim_end_matches('/'));
        }
        base = uri_base_id.as_deref().and_then(|id| bases.get(id));
    }
    path
}

/// The path without the caller's root, or else without the longest base that it is below.
fn below_a_root(path: &str, bases: &Bases, root: Option<&str>) -> String {
    if let Some(rest) = root.and_then(|root| below(path, root)) {
        return rest.to_owned();
    }
    let uris = bases.values().filter_map(|base| base.uri.as_deref());
    let roots = uris.filter(|uri| uri.len() <= PATH_MAX).filter_map(file_path);
    let rests = roots.filter_map(|root| below(path, &root).map(str::to_owned));
    rests.min_by_key(String::len).unwrap_or_else(|| path.to_owned())
}

fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    let rest = path.strip_prefix(root)?.strip_prefix('/')?;
    (!root.is_empty() && !rest.is_empty()).then_some(rest)
}

/// The path of a `file:` URI: `/repo/a.rs`, `C:/repo/a.rs` or `//server/repo/a.rs`.
fn file_path(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(local) if local.starts_with('/') => local,
        Some(local) => local.strip_prefix("localhost").unwrap_or(rest),
        None => rest,
    };
    let path = decoded(&path.replace('\\', "/"));
    let drive = path.strip_prefix('/').filter(|path| has_drive(path));
    Some(drive.map(str::to_owned).unwrap_or(path))
}

fn relative(uri: &str) -> String {
    let uri = uri.replace('\\', "/");
    decoded(uri.trim_start_matches("./"))
}

/// Letters of a drive are not a scheme.
fn has_scheme(uri: &str) -> bool {
    let is_good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    uri.split_once("://").is_some_and(|(scheme, _)| scheme.len() > 1 && scheme.bytes().all(is_good))
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'/', ..] if letter.is_ascii_alphabetic())
}

/// A text that is not UTF-8 once decoded stays as it is.
fn decoded(uri: &str) -> String {
    percent_decode_str(uri).decode_utf8().map_or_else(|_| uri.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn location(uri: &str, base: Option<&str>) -> ArtifactLocation {
        let uri_base_id = base.map(str::to_owned);
        ArtifactLocation { uri: Some(uri.to_owned()), uri_base_id, index: None }
    }

    fn bases() -> Bases {
        Bases::from([
            ("ROOT".to_owned(), location("file:///work/repo/", None)),
            ("SRC".to_owned(), location("src", Some("ROOT"))),
            ("LOOP".to_owned(), location("x/", Some("LOOP"))),
            ("EMPTY".to_owned(), ArtifactLocation::default()),
        ])
    }

    #[test]
    fn paths_are_relative_where_the_file_says_to_what() {
        for (uri, base, root, expected) in [
            ("src/a.py", None, None, "src/a.py"),
            ("./src/a%20b.py", None, None, "src/a b.py"),
            ("src\\a.py", None, None, "src/a.py"),
            ("src%5Ca.py", None, None, "src\\a.py"),
            ("100%.py", None, None, "100%.py"),
            ("%ff.py", None, None, "%ff.py"),
            ("a.py", Some("ROOT"), None, "a.py"),
            ("a.py", Some("SRC"), None, "src/a.py"),
            ("a.py", Some("EMPTY"), None, "a.py"),
            ("a.py", Some("nowhere"), None, "a.py"),
            ("a.py", Some("LOOP"), None, "x/x/x/x/a.py"),
            ("file:///work/repo/lib/a.py", None, None, "lib/a.py"),
            ("file:///work/repo2/a.py", None, None, "/work/repo2/a.py"),
            ("file:///work/repo2/a.py", None, Some("/work/repo2"), "a.py"),
            ("/work/repo2/a.py", None, Some("/work/repo2/"), "a.py"),
            ("FILE:/tmp/a.py", None, None, "/tmp/a.py"),
            ("file://localhost/tmp/a.py", None, None, "/tmp/a.py"),
            ("file://server/share/a.py", None, None, "//server/share/a.py"),
            ("file:///C:/repo/a.py", None, Some("C:/repo"), "a.py"),
            ("C:\\repo\\a.py", None, None, "C:/repo/a.py"),
            ("https://example.com/a.py", Some("SRC"), None, "https://example.com/a.py"),
        ] {
            let path = to_path(&location(uri, base), &bases(), root);
            assert_eq!(path.as_deref(), Some(expected), "{uri}");
        }
        assert_eq!(to_path(&location("", None), &bases(), None), None);
    }

    proptest! {
        #[test]
        fn a_path_survives_the_way_through_a_uri(path in "(\\./|/|[a-c]:|file:///|https://)?\\PC{1,20}") {
            let uri = from_path(&path);
            prop_assert!(uri.is_ascii());
            prop_assert_eq!(to_path(&location(&uri, None), &Bases::new(), None), Some(path));
        }
    }
}

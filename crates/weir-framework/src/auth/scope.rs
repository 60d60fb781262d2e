//! Grants as text: the `scope` of OAuth (RFC 6749, 3.3), parts separated by spaces.
//!
//! A part is `admin`, or `{kind}[:{tenant}][:{action}]`, where a service declares the kind ([`super::scope_kind`]):
//!
//! | part | grants |
//! |---|---|
//! | `admin` | everything |
//! | `ns:default` | every action on the tenant `default` of the kind `ns` |
//! | `ns:default:read`, `ns:default:acquire` | reading; one action and reading |
//! | `org:1 app:x` | narrows `org:1` to its inner tenant `x`, and to others named so |
//! | `reviews`, `reviews:read`, `reviews:o/r` | a kind whose scopes may leave the tenant out |
//! | `notes:author:1` | a kind within the kind `notes`, whose scopes include it |
//!
//! Ids are percent-encoded, so an id has neither a colon nor a slash of its own. Where a scope may leave its tenant out, an
//! id that spells an action is encoded too. An inner tenant has at most the access of the outer one beside it.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::grant::{Access, Grant, GrantError, Grants, SCOPE_MAX};
use super::scope_kind::{READ, ScopeKind, ScopeKinds};

/// What is escaped beside everything that is not ASCII: what a scope may not have (space, quote, backslash, controls), our
/// separator, and the escape itself.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'\\').add(b':').add(b'%');
/// The same with the separator of levels.
const ESCAPED_IN_LEVELS: &AsciiSet = &ESCAPED.add(b'/');

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

impl Grants {
    /// Parses a scope.
    ///
    /// # Errors
    /// A part has an unknown kind or action, an id is missing or not encoded, or the grants cannot be combined.
    pub fn parse(text: &str, kinds: &ScopeKinds) -> Result<Grants, GrantError> {
        if text.len() > SCOPE_MAX {
            return Err(GrantError::new(text, "is longer than 4096 bytes"));
        }
        let mut parts = Parts::default();
        for part in text.split(' ').filter(|part| !part.is_empty()) {
            parts.add(part, kinds)?;
        }
        parts.into_grants()
    }
}

pub(super) fn print(grants: &Grants) -> String {
    let mut parts: Vec<String> = Vec::new();
    if grants.is_admin() {
        parts.push("admin".to_owned());
    }
    for Grant { kind, ids, access } in grants.list() {
        match (kind.inner, ids.as_slice()) {
            (Some(inner), [outer, id]) => {
                let outer = print_part(kind.name, kind, &[outer], Access::Write);
                if !parts.contains(&outer) {
                    parts.push(outer);
                }
                parts.push(print_part(inner, kind, &[id], *access));
            }
            _ => {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                parts.push(print_part(kind.name, kind, &ids, *access));
            }
        }
    }
    parts.join(" ")
}

/// The text of one part.
fn print_part(name: &str, kind: &ScopeKind, ids: &[&str], access: Access) -> String {
    let mut text = name.to_owned();
    for (at, id) in ids.iter().enumerate() {
        text.push(if at == 0 { ':' } else { '/' });
        push_id(&mut text, kind, id);
    }
    match access {
        Access::Write => {}
        Access::Read => text.extend([":", READ]),
        Access::Action(action) => text.extend([":", action]),
    }
    text
}

fn push_id(text: &mut String, kind: &ScopeKind, id: &str) {
    let escaped =
        if kind.inner.is_some() || kind.levels.len() < 2 { ESCAPED } else { ESCAPED_IN_LEVELS };
    let id = match id.split_at_checked(1) {
        Some((first, rest)) if kind.without_tenant && kind.action(id).is_some() => {
            text.extend(first.bytes().map(|byte| format!("%{byte:02X}")));
            rest
        }
        _ => id,
    };
    text.extend(utf8_percent_encode(id, escaped));
}

/// The parts of a scope.
#[derive(Default)]
struct Parts {
    admin: bool,
    outer: Vec<Grant>,
    inner: Vec<Grant>,
}

impl Parts {
    fn add(&mut self, part: &str, kinds: &ScopeKinds) -> Result<(), GrantError> {
        if part == "admin" {
            self.admin = true;
            return Ok(());
        }
        if let Some((kind, rest)) = kinds.find(part, |kind| kind.inner) {
            self.inner.push(parse_part(part, kind, rest)?);
            return Ok(());
        }
        let Some((kind, rest)) = kinds.find(part, |kind| Some(kind.name)) else {
            let problem = format!("does not begin with one of {}", kinds.names());
            return Err(GrantError::new(part, problem));
        };
        self.outer.push(parse_part(part, kind, rest)?);
        Ok(())
    }

    /// Puts inner grants inside their outer grants, which they narrow.
    fn into_grants(self) -> Result<Grants, GrantError> {
        let Parts { admin, mut outer, inner } = self;
        let mut list = Vec::new();
        for grant in inner {
            let mut beside = outer.iter().filter(|other| other.kind == grant.kind);
            let (Some(around), None) = (beside.next(), beside.next()) else {
                let part = print_part(
                    grant.kind.inner.unwrap_or_default(),
                    grant.kind,
                    &grant.id_refs(),
                    Access::Write,
                );
                let problem = format!("stands beside exactly one {}", grant.kind.name);
                return Err(GrantError::new(&part, problem));
            };
            let access = grant.access.and(around.access);
            let ids = around.ids.iter().chain(&grant.ids).map(String::as_str).collect::<Vec<_>>();
            list.push(Grant::new(grant.kind, &ids, access));
        }
        outer.retain(|grant| !list.iter().any(|inner| inner.kind == grant.kind));
        Grants::checked(admin, outer.into_iter().chain(list))
    }
}

impl Grant {
    fn id_refs(&self) -> Vec<&str> {
        self.ids.iter().map(String::as_str).collect()
    }
}

/// Parses the rest of a part after its kind: `[{tenant}][:{action}]`.
fn parse_part(part: &str, kind: &'static ScopeKind, rest: &str) -> Result<Grant, GrantError> {
    let wrong = |problem: String| GrantError::new(part, problem);
    let (tenant, action) = match rest.split_once(':') {
        Some((tenant, action)) => (tenant, Some(action)),
        None if kind.without_tenant && kind.action(rest).is_some() => ("", Some(rest)),
        None => (rest, None),
    };
    let access = match action {
        None => Access::Write,
        Some(READ) => Access::Read,
        Some(text) => {
            Access::Action(kind.action(text).ok_or_else(|| wrong(unknown_action(kind, text)))?)
        }
    };
    if tenant.is_empty() {
        if kind.without_tenant && (rest.is_empty() || action == Some(rest)) && !part.ends_with(':')
        {
            return Ok(Grant::new(kind, &[], access));
        }
        return Err(wrong("has no id".to_owned()));
    }
    let one_level = kind.inner.is_some() || kind.levels.len() < 2;
    let ids: Vec<&str> = if one_level { vec![tenant] } else { tenant.split('/').collect() };
    if ids.len() > kind.levels.len() {
        return Err(wrong(format!("has more than {} ids", kind.levels.len())));
    }
    let ids: Result<Vec<String>, _> = ids.into_iter().map(unescape).collect();
    let ids = ids.map_err(|problem| wrong(problem.to_owned()))?;
    // The ids of an inner part become canonical once they stand inside their outer one.
    let is_inner = kind.inner.is_some_and(|inner| part.starts_with(inner));
    Ok(if is_inner {
        Grant { kind, ids, access }
    } else {
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        Grant::new(kind, &ids, access)
    })
}

fn unknown_action(kind: &ScopeKind, text: &str) -> String {
    let text: String = text.chars().take(32).collect();
    let known: Vec<&str> = kind.actions.iter().copied().chain([READ]).collect();
    format!("has no action {text:?}; known actions: {}", known.join(", "))
}

fn unescape(text: &str) -> Result<String, &'static str> {
    let allowed = |byte: u8| matches!(byte, 0x21 | 0x23..=0x39 | 0x3b..=0x5b | 0x5d..=0x7e);
    if text.is_empty() {
        return Err("has no id");
    }
    if !text.bytes().all(allowed) {
        return Err("has a character that must be percent-encoded");
    }
    let hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
    let mut escapes = text.split('%').skip(1).map(str::bytes);
    if !escapes.all(|mut after| hex(after.next()) && hex(after.next())) {
        return Err("has a % without two hexadecimal digits");
    }
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| "is not UTF-8 once decoded")?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::auth::test_kinds::{NS, ORG, REVIEWS, kinds};

    fn parsed(text: &str) -> String {
        Grants::parse(text, &kinds()).unwrap().to_string()
    }

    fn refused(text: &str) -> String {
        Grants::parse(text, &kinds()).unwrap_err().to_string()
    }

    #[test]
    fn the_text_is_this() {
        for text in [
            "",
            "admin",
            "metrics",
            "org:7",
            "org:7:read",
            "org:read",
            "org:read:read",
            "org:1 org:2:read",
            "org:1 app:x:read app:y",
            "org:1 app:x:submit",
            "ns:a%20b reviews:%C3%BC%3A%25",
            "ns:a:acquire ns:b:read",
            "reviews",
            "reviews:read",
            "reviews:%72ead",
            "reviews:o/r:read reviews:o:read",
            "admin ns:n org:1 app:x reviews:o%2Fo/r",
            "notes",
            "notes:read notes:author:1 notes:author:read:read notes:printer",
        ] {
            let text: Vec<&str> = text.split(' ').collect();
            let again = parsed(&text.join(" "));
            let again: Vec<&str> = again.split(' ').collect();
            let sorted = |mut parts: Vec<&str>| {
                parts.sort_unstable();
                parts.join(" ")
            };
            assert_eq!(sorted(again), sorted(text));
        }
    }

    #[test]
    fn other_spellings_become_the_usual_one() {
        assert_eq!(parsed("  reviews:o   org:1 "), "org:1 reviews:o");
        assert_eq!(parsed("app:x org:1:read"), "org:1 app:x:read");
        assert_eq!(parsed("app:x:submit org:1:read"), "org:1 app:x:read");
        assert_eq!(parsed("ns:%61%3a"), "ns:a%3A");
        assert_eq!(parsed("org:1 org:1:read"), "org:1");
        assert_eq!(parsed("org:AB"), "org:ab");
        assert_eq!(parsed("org:AB app:AB"), "org:ab app:AB");
    }

    #[test]
    fn a_mistake_is_named() {
        let cases = [
            ("root", "\"root\": does not begin with one of admin, metrics, ns, org, app, reviews"),
            ("notes:author", "\"notes:author\": has no id"),
            ("notes:1", "has more than 0 ids"),
            ("notes:printer:1", "has more than 0 ids"),
            ("user:1", "\"user:1\": does not begin"),
            ("nsx:1", "\"nsx:1\": does not begin"),
            ("org:", "\"org:\": has no id"),
            ("org", "\"org\": has no id"),
            ("org::read", "\"org::read\": has no id"),
            ("reviews:", "has no id"),
            ("reviews::read", "has no id"),
            ("reviews:a/b/c", "has more than 2 ids"),
            ("reviews:a/", "has no id"),
            ("org:write:1", "has no action \"1\"; known actions: submit, read"),
            ("org:1:acquire", "has no action \"acquire\""),
            ("org:1:read:2", "has no action \"read:2\""),
            ("ns:ü", "\"ns:ü\": has a character that must be"),
            ("ns:a\nb", "must be percent-encoded"),
            ("ns:%4", "has a % without two hex"),
            ("ns:%zz", "has a % without two hex"),
            ("ns:%ff", "is not UTF-8"),
            ("app:x", "\"app:x\": stands beside exactly one org"),
            ("org:1 org:2 app:x", "\"app:x\": stands beside"),
        ];
        for (text, problem) in cases {
            assert!(refused(text).contains(problem), "{}", refused(text));
        }
        let long = format!("ns:{}", "x".repeat(SCOPE_MAX));
        assert!(refused(&long).contains("longer than 4096 bytes"));
        assert!(refused(&long).len() < 200);
        let many: Vec<String> = (0..65).map(|n| format!("ns:{n}")).collect();
        assert!(refused(&many.join(" ")).contains("more than 64 grants"));
    }

    fn grants() -> impl Strategy<Value = Grants> {
        let id = || "\\PC{1,6}|[ :/%\"\\\\\u{0}-\u{1f}\u{7f}a-c]{1,6}|read|acquire";
        let access = |action: &'static str| {
            prop_oneof![Just(Access::Read), Just(Access::Action(action)), Just(Access::Write)]
        };
        let many = |kind: &'static ScopeKind, depth: std::ops::Range<usize>, action| {
            let ids = prop::collection::vec(id(), depth);
            let grant = (ids, access(action)).prop_map(move |(ids, access)| {
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                Grant::new(kind, &ids, access)
            });
            prop::collection::vec(grant, 0..5)
        };
        let apps = (id(), prop::collection::vec((id(), access("submit")), 1..5));
        let apps = apps.prop_map(|(org, apps)| {
            let apps = apps.into_iter();
            apps.map(|(app, access)| Grant::new(&ORG, &[&org, &app], access)).collect::<Vec<_>>()
        });
        let orgs = prop_oneof![many(&ORG, 1..2, "submit"), apps];
        // The kind `reviews` has no action of its own.
        let reviews = (prop::collection::vec(id(), 0..3), any::<bool>()).prop_map(|(ids, read)| {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            Grant::new(&REVIEWS, &ids, if read { Access::Read } else { Access::Write })
        });
        let reviews = prop::collection::vec(reviews, 0..5);
        (any::<bool>(), orgs, many(&NS, 1..2, "acquire"), reviews).prop_map(
            |(admin, orgs, ns, reviews)| {
                Grants::checked(admin, orgs.into_iter().chain(ns).chain(reviews)).unwrap()
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(grants in grants()) {
            let text = grants.to_string();
            prop_assert!(text.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            prop_assert_eq!(Grants::parse(&text, &kinds()).unwrap(), grants);
        }

        #[test]
        fn any_text_is_read_or_refused(
            text in "\\PC{0,40}|(org|app|ns|reviews)(:[%:/a-f0-9]{0,9})?( app:x)?(:read)?",
        ) {
            if let Ok(grants) = Grants::parse(&text, &kinds()) {
                prop_assert_eq!(Grants::parse(&grants.to_string(), &kinds()).unwrap(), grants);
            }
        }
    }
}

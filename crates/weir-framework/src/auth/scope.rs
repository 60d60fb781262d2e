//! Grants as text: the `scope` of OAuth (RFC 6749, 3.3), parts with a space between them.
//!
//! | part | grants |
//! |---|---|
//! | `admin` | everything |
//! | `org:{id}` | an org and its apps |
//! | `app:{id}` | narrows the one `org:` beside it to this app, and to others named so |
//! | `ns:{name}` | a namespace of limits |
//! | `owner:{login}` | a person's records |
//!
//! `org:read:{id}` and so on grant reading only. An id has no colon of its own (it is
//! percent-encoded, like everything that a scope may not hold), so that `org:read` is the org
//! called `read`. An app of an org that is granted for reading is granted for reading.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::grant::{Access, Grant, GrantError, Grants, SCOPE_MAX, Tenant};

/// What is escaped beside everything that is not ASCII: what a scope may not hold (space, quote,
/// backslash, controls), our separator, and the escape itself.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'\\').add(b':').add(b'%');

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

impl FromStr for Grants {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Grants, GrantError> {
        parse(text)
    }
}

pub(super) fn print(grants: &Grants) -> String {
    let mut parts = Vec::new();
    if grants.is_admin() {
        parts.push("admin".to_owned());
    }
    let mut narrowed = false;
    for Grant { tenant, access } in grants.list() {
        match tenant {
            Tenant::Org(id) => parts.push(part("org", *access, id)),
            Tenant::Namespace(name) => parts.push(part("ns", *access, name)),
            Tenant::Owner(login) => parts.push(part("owner", *access, login)),
            Tenant::App { org, app } => {
                if !narrowed {
                    parts.push(part("org", Access::Write, org));
                    narrowed = true;
                }
                parts.push(part("app", *access, app));
            }
        }
    }
    parts.join(" ")
}

fn part(kind: &str, access: Access, id: &str) -> String {
    let id = utf8_percent_encode(id, ESCAPED);
    match access {
        Access::Read => format!("{kind}:read:{id}"),
        Access::Write => format!("{kind}:{id}"),
    }
}

/// The parts of a scope, sorted by kind.
#[derive(Default)]
struct Parts {
    admin: bool,
    orgs: Vec<(String, Access)>,
    apps: Vec<(String, Access)>,
    others: Vec<Grant>,
}

fn parse(text: &str) -> Result<Grants, GrantError> {
    if text.len() > SCOPE_MAX {
        return Err(GrantError::new(text, "is longer than 4096 bytes"));
    }
    let mut parts = Parts::default();
    for part in text.split(' ').filter(|part| !part.is_empty()) {
        parts.take(part)?;
    }
    parts.into_grants()
}

impl Parts {
    fn take(&mut self, part: &str) -> Result<(), GrantError> {
        if part == "admin" {
            self.admin = true;
            return Ok(());
        }
        let wrong = |problem| GrantError::new(part, problem);
        let (kind, rest) =
            part.split_once(':').ok_or_else(|| wrong("is not admin, org:, app:, ns: or owner:"))?;
        let (access, id) = match rest.split_once(':') {
            None => (Access::Write, rest),
            Some(("read", id)) => (Access::Read, id),
            Some(_) => return Err(wrong("has something other than read before its id")),
        };
        let id = unescape(id).map_err(wrong)?;
        match kind {
            "org" => self.orgs.push((id, access)),
            "app" => self.apps.push((id, access)),
            "ns" => self.other(Tenant::Namespace(id), access),
            "owner" => self.other(Tenant::Owner(id), access),
            _ => return Err(wrong("is not admin, org:, app:, ns: or owner:")),
        }
        Ok(())
    }

    fn other(&mut self, tenant: Tenant, access: Access) {
        self.others.push(Grant { tenant, access });
    }

    fn into_grants(self) -> Result<Grants, GrantError> {
        let mut list = self.others;
        match (self.orgs.as_slice(), self.apps) {
            ([(org, whole)], apps) if !apps.is_empty() => {
                list.extend(apps.into_iter().map(|(app, access)| {
                    let org = org.clone();
                    let tenant = Tenant::App { org, app };
                    let access = access.min(*whole);
                    Grant { tenant, access }
                }));
            }
            (_, apps) => {
                if let Some((app, _)) = apps.first() {
                    let problem = "an app stands beside exactly one org";
                    return Err(GrantError::new(&format!("app:{app}"), problem));
                }
                list.extend(self.orgs.into_iter().map(|(org, access)| {
                    let tenant = Tenant::Org(org);
                    Grant { tenant, access }
                }));
            }
        }
        Grants::checked(self.admin, list)
    }
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

    fn said(text: &str) -> String {
        text.parse::<Grants>().unwrap().to_string()
    }

    fn refused(text: &str) -> String {
        text.parse::<Grants>().unwrap_err().to_string()
    }

    #[test]
    fn the_text_is_this() {
        for text in [
            "",
            "admin",
            "org:7",
            "org:read:7",
            "org:read",
            "org:read:read",
            "org:1 org:read:2",
            "org:1 app:read:x app:y",
            "ns:a%20b owner:%C3%BC%3A%25",
            "admin org:1 app:x ns:n owner:read:o",
        ] {
            assert_eq!(said(text), text);
        }
    }

    #[test]
    fn other_ways_to_say_it_become_the_usual_one() {
        assert_eq!(said("  owner:o   org:1 "), "org:1 owner:o");
        assert_eq!(said("app:x org:read:1"), "org:1 app:read:x");
        assert_eq!(said("ns:%61%3a"), "ns:a%3A");
        assert_eq!(said("org:1 org:read:1"), "org:1");
    }

    #[test]
    fn a_mistake_is_named() {
        let cases = [
            ("root", "\"root\": is not admin"),
            ("user:1", "\"user:1\": is not admin"),
            ("org:", "\"org:\": has no id"),
            ("org:read:", "\"org:read:\": has no id"),
            ("org:write:1", "\"org:write:1\": has something other"),
            ("org:read:1:2", "must be percent-encoded"),
            ("ns:ü", "\"ns:ü\": has a character that must be"),
            ("ns:a\nb", "must be percent-encoded"),
            ("ns:%4", "has a % without two hex"),
            ("ns:%zz", "has a % without two hex"),
            ("ns:%ff", "is not UTF-8"),
            ("app:x", "\"app:x\": an app stands beside exactly one org"),
            ("org:1 org:2 app:x", "\"app:x\": an app stands beside"),
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
        let id = || "\\PC{1,6}|[ :%\"\\\\\u{0}-\u{1f}\u{7f}a-c]{1,6}|read";
        let access = || prop_oneof![Just(Access::Read), Just(Access::Write)];
        let orgs = prop::collection::vec((id().prop_map(Tenant::Org), access()), 0..5);
        let apps = (id(), prop::collection::vec((id(), access()), 1..5)).prop_map(|(org, apps)| {
            let tenant = |app| Tenant::App { org: org.clone(), app };
            let apps = apps.into_iter();
            apps.map(|(app, access)| (tenant(app), access)).collect()
        });
        let other = prop_oneof![id().prop_map(Tenant::Namespace), id().prop_map(Tenant::Owner)];
        let others = prop::collection::vec((other, access()), 0..5);
        let all = (any::<bool>(), prop_oneof![orgs, apps], others);
        all.prop_map(|(admin, mut list, others): (_, Vec<_>, _)| {
            list.extend(others);
            let list = list.into_iter();
            let list = list.map(|(tenant, access)| Grant { tenant, access });
            Grants::checked(admin, list).unwrap()
        })
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(grants in grants()) {
            let text = grants.to_string();
            prop_assert!(text.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            prop_assert_eq!(text.parse::<Grants>().unwrap(), grants);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}|(org|app|ns):[%:a-f0-9]{0,9}( app:x)?") {
            if let Ok(grants) = text.parse::<Grants>() {
                prop_assert_eq!(grants.to_string().parse::<Grants>().unwrap(), grants);
            }
        }
    }
}

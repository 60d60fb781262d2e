//! The scope that a route requires of its caller. A route names it where it is declared, and
//! [`authorize`](crate::authorize) checks it before the handler runs.

use axum::http::Method;

use crate::auth::Identity;
use crate::auth::grant::{Access, Grant, Grants};
use crate::auth::scope_kind::{LEVELS_MAX, ScopeKind};

/// The scope that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredScope {
    /// No credentials; the text says why that is safe.
    Public(&'static str),
    /// Any valid credentials.
    Authenticated,
    /// The admin key, or a token with the scope `admin`.
    Admin,
    /// A grant for the tenant that the path names: to read with a safe method, to write with the others.
    Tenant(&'static ScopeKind),
    /// A grant for one action on the tenant that the path names.
    Action(&'static ScopeKind, &'static str),
    /// A grant for any tenant, because the path does not name it: the handler finds it in the body or the store, and asks
    /// [`Caller`](crate::authorize::Caller) whether it is one of the caller's.
    AnyTenant(&'static ScopeKind),
    /// A grant of any of these kinds, for any tenant; the handler decides what the caller may see.
    AnyOf(&'static [&'static ScopeKind]),
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The request carries no credentials.
    Unauthenticated,
    /// The caller lacks this scope.
    Forbidden(String),
    /// The caller has a scope of the kind that is too narrow; the advice says for what it is enough.
    TooNarrow(String, &'static str),
}

impl RequiredScope {
    /// The value of `x-weir-scope` in the OpenAPI description: the least scope that a caller needs, with the parameters of
    /// the path in braces.
    #[must_use]
    pub(crate) fn text(self, method: &Method, path: &str) -> String {
        match self {
            RequiredScope::Public(_) => "none".to_owned(),
            RequiredScope::Authenticated => "any".to_owned(),
            RequiredScope::Admin => "admin".to_owned(),
            RequiredScope::Tenant(kind) | RequiredScope::Action(kind, _) => {
                let names = kind.levels.iter().map(|level| format!("{{{}}}", level.parameter));
                let named: Vec<String> = names.filter(|name| path.contains(name)).collect();
                let ids: Vec<&str> = named.iter().map(String::as_str).collect();
                scope_text(kind, &ids, self.access(method))
            }
            RequiredScope::AnyTenant(kind) => any_tenant_text(kind, self.access(method)),
            RequiredScope::AnyOf(kinds) => any_of_text(kinds, self.access(method)),
        }
    }

    /// The path parameter without which a path names no tenant.
    pub(crate) fn parameter(self) -> Option<&'static str> {
        let (RequiredScope::Tenant(kind) | RequiredScope::Action(kind, _)) = self else {
            return None;
        };
        if kind.without_tenant { None } else { kind.levels.first().map(|level| level.parameter) }
    }

    fn access(self, method: &Method) -> Access {
        match self {
            _ if method.is_safe() => Access::Read,
            RequiredScope::Action(_, action) => Access::Action(action),
            _ => Access::Write,
        }
    }

    /// Checks that `caller` may send `method` to a path with these parameters.
    pub(crate) fn check<'p>(
        self,
        caller: Option<&Identity>,
        method: &Method,
        parameters: impl Fn(&str) -> Option<&'p str>,
    ) -> Result<(), Denied> {
        if let RequiredScope::Public(_) = self {
            return Ok(());
        }
        let grants = &caller.ok_or(Denied::Unauthenticated)?.grants;
        match self {
            _ if grants.is_admin() => Ok(()),
            RequiredScope::Public(_) | RequiredScope::Authenticated => Ok(()),
            RequiredScope::Admin => Err(Denied::Forbidden("admin".to_owned())),
            RequiredScope::Tenant(kind) | RequiredScope::Action(kind, _) => {
                check_tenant(grants, kind, self.access(method), parameters)
            }
            RequiredScope::AnyTenant(kind) => {
                let access = self.access(method);
                let is_allowed = grants.allows_any(kind, access);
                let denied = || Denied::Forbidden(any_tenant_text(kind, access));
                is_allowed.then_some(()).ok_or_else(denied)
            }
            RequiredScope::AnyOf(kinds) => {
                let access = self.access(method);
                let is_allowed = kinds.iter().any(|kind| grants.allows_any(kind, access));
                let denied = || Denied::Forbidden(any_of_text(kinds, access));
                is_allowed.then_some(()).ok_or_else(denied)
            }
        }
    }
}

fn check_tenant<'p>(
    grants: &Grants,
    kind: &'static ScopeKind,
    access: Access,
    parameters: impl Fn(&str) -> Option<&'p str>,
) -> Result<(), Denied> {
    let mut ids = [""; LEVELS_MAX];
    let named = kind.levels.iter().map_while(|level| parameters(level.parameter));
    let count = ids.iter_mut().zip(named).map(|(id, named)| *id = named).count();
    let ids = ids.get(..count).unwrap_or_default();
    // Only the operator may use a path that names no tenant of a kind whose scopes all name one.
    if ids.is_empty() && !kind.without_tenant {
        return Err(Denied::Forbidden("admin".to_owned()));
    }
    check_ids(grants, kind, ids, access)
}

/// Checks that the tenant with these ids is among the grants.
pub(crate) fn check_ids(
    grants: &Grants,
    kind: &'static ScopeKind,
    ids: &[&str],
    access: Access,
) -> Result<(), Denied> {
    if grants.allows(kind, ids, access) {
        return Ok(());
    }
    let needed = scope_text(kind, ids, access);
    Err(match kind.advice {
        Some(advice) if ids.is_empty() && grants.allows_any(kind, access) => {
            Denied::TooNarrow(needed, advice)
        }
        _ => Denied::Forbidden(needed),
    })
}

/// The least scope of a route whose path names no tenant, with the names of the levels in braces.
fn any_tenant_text(kind: &'static ScopeKind, access: Access) -> String {
    let names: Vec<String> =
        kind.levels.iter().map(|level| format!("{{{}}}", level.parameter)).collect();
    let ids: Vec<&str> = names.iter().map(String::as_str).collect();
    scope_text(kind, &ids, access)
}

/// The least scopes of a route that is open to several kinds.
fn any_of_text(kinds: &[&'static ScopeKind], access: Access) -> String {
    let texts: Vec<String> = kinds.iter().map(|kind| any_tenant_text(kind, access)).collect();
    texts.join(" | ")
}

/// The scope that grants `access` to the tenant with these ids.
fn scope_text(kind: &'static ScopeKind, ids: &[&str], access: Access) -> String {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    let grants = Grants::new([Grant { kind, ids, access }]);
    grants.map_or_else(|_| kind.name.to_owned(), |grants| grants.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Proof;
    use crate::auth::test_kinds::{AUTHOR, NOTES, NS, ORG, PRINTER, REVIEWS, kinds};

    const EITHER: RequiredScope = RequiredScope::AnyOf(&[&AUTHOR, &PRINTER]);

    fn caller(scope: &str) -> Identity {
        Identity {
            subject: "someone".into(),
            grants: Grants::parse(scope, &kinds()).unwrap(),
            claims: None,
            proof: Proof::Socket,
        }
    }

    fn check(
        required: RequiredScope,
        scope: Option<&str>,
        method: Method,
        path: &[(&str, &str)],
    ) -> Result<(), Denied> {
        let caller = scope.map(caller);
        let find =
            |name: &str| path.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        required.check(caller.as_ref(), &method, find)
    }

    #[test]
    fn grants_allow_the_tenant_they_name() {
        let tenant = RequiredScope::Tenant;
        let acquire = RequiredScope::Action(&NS, "acquire");
        let open = RequiredScope::Public("tests");
        let a: &[(&str, &str)] = &[("org", "a")];
        let a_x: &[(&str, &str)] = &[("org", "a"), ("app", "x")];
        let ns: &[(&str, &str)] = &[("ns", "n")];
        let none: &[(&str, &str)] = &[];
        let any = RequiredScope::Authenticated;
        for (required, scope, method, path) in [
            (open, None, Method::GET, a),
            (any, Some("ns:other"), Method::POST, a),
            (RequiredScope::Admin, Some("admin"), Method::DELETE, a),
            (tenant(&ORG), Some("org:a"), Method::PUT, a),
            (tenant(&ORG), Some("org:a"), Method::PUT, a_x),
            (tenant(&ORG), Some("org:a app:x"), Method::PUT, a_x),
            (tenant(&ORG), Some("org:A"), Method::GET, a),
            (tenant(&NS), Some("ns:n"), Method::POST, ns),
            (tenant(&NS), Some("ns:n:read"), Method::GET, ns),
            (tenant(&NS), Some("ns:n:acquire"), Method::GET, ns),
            (tenant(&NS), Some("admin"), Method::GET, a),
            (acquire, Some("ns:n:acquire"), Method::POST, ns),
            (acquire, Some("ns:n"), Method::POST, ns),
            (tenant(&REVIEWS), Some("reviews:read"), Method::GET, none),
            (tenant(&REVIEWS), Some("reviews"), Method::PUT, &[("owner", "me")]),
            (RequiredScope::AnyTenant(&REVIEWS), Some("reviews:a/b"), Method::PUT, none),
            (RequiredScope::AnyTenant(&REVIEWS), Some("reviews:read"), Method::GET, none),
            (tenant(&AUTHOR), Some("notes"), Method::PUT, &[("author", "1")]),
            (tenant(&PRINTER), Some("notes:printer"), Method::PUT, none),
            (EITHER, Some("notes:printer"), Method::PUT, none),
            (EITHER, Some("notes:author:1:read"), Method::GET, none),
            (EITHER, Some("notes:read"), Method::GET, none),
        ] {
            let checked = check(required, scope, method.clone(), path);
            assert_eq!(checked, Ok(()), "{required:?} {scope:?} {method} {path:?}");
        }
        for (required, scope, method, path, needed) in [
            (RequiredScope::Admin, "org:a", Method::GET, a, "admin"),
            (tenant(&ORG), "org:b", Method::GET, a, "org:a:read"),
            (tenant(&ORG), "org:a app:y", Method::GET, a_x, "org:a app:x:read"),
            (tenant(&ORG), "org:a app:x", Method::GET, a, "org:a:read"),
            (tenant(&ORG), "org:a:read", Method::PUT, a, "org:a"),
            (tenant(&NS), "org:n", Method::GET, ns, "ns:n:read"),
            (tenant(&NS), "ns:n:acquire", Method::PUT, ns, "ns:n"),
            (acquire, "ns:n:read", Method::POST, ns, "ns:n:acquire"),
            (tenant(&NS), "ns:n", Method::GET, a, "admin"),
            (tenant(&REVIEWS), "reviews:me", Method::GET, none, "reviews:read"),
            (tenant(&REVIEWS), "reviews:me", Method::PUT, &[("owner", "you")], "reviews:you"),
            (
                RequiredScope::AnyTenant(&REVIEWS),
                "reviews:a/b:read ns:n",
                Method::PUT,
                none,
                "reviews:{owner}/{repo}",
            ),
            (tenant(&NOTES), "notes:author:1 notes:printer", Method::GET, none, "notes:read"),
            (tenant(&PRINTER), "notes:read", Method::PUT, none, "notes:printer"),
            (EITHER, "notes:read ns:n", Method::PUT, none, "notes:author:{author} | notes:printer"),
        ] {
            let denied = Err(Denied::Forbidden(needed.to_owned()));
            let checked = check(required, Some(scope), method.clone(), path);
            assert_eq!(checked, denied, "{required:?} {scope:?} {method} {path:?}");
        }
        for required in [any, RequiredScope::Admin, tenant(&ORG)] {
            assert_eq!(check(required, None, Method::GET, a), Err(Denied::Unauthenticated));
        }
    }

    #[test]
    fn a_scope_that_is_too_narrow_gets_advice() {
        static ADVISED: ScopeKind =
            ScopeKind::new("reviews", REVIEWS.levels).or_without_tenant().with_advice("go there");
        let all = RequiredScope::Tenant(&ADVISED);
        let narrow = Denied::TooNarrow("reviews:read".to_owned(), "go there");
        assert_eq!(check(all, Some("reviews:me"), Method::GET, &[]), Err(narrow));
        let other = Denied::Forbidden("reviews:read".to_owned());
        assert_eq!(check(all, Some("ns:n"), Method::GET, &[]), Err(other));
    }

    #[test]
    fn the_least_scope_is_described() {
        let org = RequiredScope::Tenant(&ORG);
        assert_eq!(org.text(&Method::PUT, "/orgs/{org}"), "org:{org}");
        let path = "/orgs/{org}/apps/{app}";
        assert_eq!(org.text(&Method::GET, path), "org:{org} app:{app}:read");
        let acquire = RequiredScope::Action(&NS, "acquire");
        assert_eq!(acquire.text(&Method::POST, "/n/{ns}/acquire"), "ns:{ns}:acquire");
        assert_eq!(RequiredScope::Tenant(&REVIEWS).text(&Method::GET, "/r"), "reviews:read");
        let any = RequiredScope::AnyTenant(&REVIEWS);
        assert_eq!(any.text(&Method::GET, "/r/{id}"), "reviews:{owner}/{repo}:read");
    }
}

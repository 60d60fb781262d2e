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
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The request carries no credentials.
    Unauthenticated,
    /// The caller lacks this scope.
    Forbidden(String),
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
    if grants.allows(kind, ids, access) {
        return Ok(());
    }
    Err(Denied::Forbidden(scope_text(kind, ids, access)))
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
    use crate::auth::test_kinds::{NS, ORG, REVIEWS, kinds};

    fn caller(scope: &str) -> Identity {
        Identity {
            subject: "someone".into(),
            grants: Grants::parse(scope, &kinds()).unwrap(),
            claims: None,
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
    fn the_least_scope_is_described() {
        let org = RequiredScope::Tenant(&ORG);
        assert_eq!(org.text(&Method::PUT, "/orgs/{org}"), "org:{org}");
        let path = "/orgs/{org}/apps/{app}";
        assert_eq!(org.text(&Method::GET, path), "org:{org} app:{app}:read");
        let acquire = RequiredScope::Action(&NS, "acquire");
        assert_eq!(acquire.text(&Method::POST, "/n/{ns}/acquire"), "ns:{ns}:acquire");
        assert_eq!(RequiredScope::Tenant(&REVIEWS).text(&Method::GET, "/r"), "reviews:read");
    }
}

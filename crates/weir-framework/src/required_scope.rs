//! The scope that a route requires of its caller. A route names it where it is declared, and
//! [`authorize`](crate::authorize) checks it before the handler runs.

use axum::http::Method;

use crate::auth::Identity;
use crate::auth::grant::{Access, Tenant, canonical_org};

/// The scope that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequiredScope {
    /// No credentials; the text says why that is safe.
    Public(&'static str),
    /// Any valid credentials.
    Authenticated,
    /// The admin key, or a token with the scope `admin`.
    Admin,
    /// A grant for the tenant in the path: `{org}` and, if the path has it, `{app}`.
    Org,
    /// A grant for the namespace in the path: `{ns}`.
    Namespace,
    /// A grant for the repository owner in the path: `{owner}`.
    Owner,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The request carries no credentials.
    Unauthenticated,
    /// The caller has no grant for this route.
    Forbidden,
}

impl RequiredScope {
    /// The value of `x-weir-scope` in the OpenAPI description.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            RequiredScope::Public(_) => "none",
            RequiredScope::Authenticated => "any",
            RequiredScope::Admin => "admin",
            RequiredScope::Org => "org",
            RequiredScope::Namespace => "ns",
            RequiredScope::Owner => "owner",
        }
    }

    /// The path parameter that names the tenant.
    pub(crate) fn parameter(self) -> Option<&'static str> {
        match self {
            RequiredScope::Public(_) | RequiredScope::Authenticated | RequiredScope::Admin => None,
            RequiredScope::Org => Some("org"),
            RequiredScope::Namespace => Some("ns"),
            RequiredScope::Owner => Some("owner"),
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
        let access = if method.is_safe() { Access::Read } else { Access::Write };
        let tenant = self.parameter().and_then(&parameters);
        let allowed = match (self, tenant) {
            _ if grants.is_admin() => true,
            (RequiredScope::Authenticated, _) => true,
            (RequiredScope::Public(_) | RequiredScope::Admin, _) => false,
            (RequiredScope::Org, Some(org)) => {
                let org = canonical_org(org);
                let tenant = match parameters("app") {
                    Some(app) => Tenant::App { org, app: app.to_owned() },
                    None => Tenant::Org(org),
                };
                grants.allows(&tenant, access)
            }
            (RequiredScope::Namespace, Some(ns)) => {
                grants.allows(&Tenant::Namespace(ns.to_owned()), access)
            }
            (RequiredScope::Owner, Some(owner)) => {
                grants.allows(&Tenant::Owner(owner.to_owned()), access)
            }
            // Only the operator may use a path that names no tenant.
            (_, None) => false,
        };
        if allowed { Ok(()) } else { Err(Denied::Forbidden) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One org, in two spellings.
    const LOWER: &str = "org:550e8400-e29b-41d4-a716-4466554400ab";
    const UPPER: &str = "org:550E8400-E29B-41D4-A716-4466554400AB";

    fn caller(scope: &str) -> Identity {
        Identity { subject: "someone".into(), grants: scope.parse().unwrap(), claims: None }
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
        let (ok, unauthenticated, forbidden) =
            (Ok(()), Err(Denied::Unauthenticated), Err(Denied::Forbidden));
        let open = RequiredScope::Public("tests");
        let a: &[(&str, &str)] = &[("org", "a")];
        let a_x: &[(&str, &str)] = &[("org", "a"), ("app", "x")];
        let ns: &[(&str, &str)] = &[("ns", "default")];
        let (lower, upper): (&[_], &[_]) = (&[("org", &LOWER[4..])], &[("org", &UPPER[4..])]);
        for (required, scope, method, path, expected) in [
            (open, None, Method::GET, a, ok),
            (RequiredScope::Authenticated, None, Method::GET, a, unauthenticated),
            (RequiredScope::Authenticated, Some("ns:other"), Method::POST, a, ok),
            (RequiredScope::Admin, None, Method::GET, a, unauthenticated),
            (RequiredScope::Admin, Some("org:a"), Method::GET, a, forbidden),
            (RequiredScope::Admin, Some("admin"), Method::DELETE, a, ok),
            (RequiredScope::Org, Some("org:a"), Method::PUT, a, ok),
            (RequiredScope::Org, Some("org:b"), Method::GET, a, forbidden),
            (RequiredScope::Org, Some("org:a"), Method::PUT, a_x, ok),
            (RequiredScope::Org, Some("org:a app:x"), Method::PUT, a_x, ok),
            (RequiredScope::Org, Some("org:a app:y"), Method::GET, a_x, forbidden),
            (RequiredScope::Org, Some("org:a app:x"), Method::GET, a, forbidden),
            (RequiredScope::Org, Some(LOWER), Method::GET, upper, ok),
            (RequiredScope::Org, Some(UPPER), Method::GET, lower, ok),
            (RequiredScope::Org, Some("org:A"), Method::GET, a, forbidden),
            (RequiredScope::Namespace, Some("ns:default"), Method::POST, ns, ok),
            (RequiredScope::Namespace, Some("org:default"), Method::GET, ns, forbidden),
            (RequiredScope::Namespace, Some("ns:default"), Method::GET, a, forbidden),
            (RequiredScope::Namespace, Some("admin"), Method::GET, a, ok),
            (RequiredScope::Owner, Some("owner:me"), Method::GET, &[("owner", "me")], ok),
            (RequiredScope::Owner, Some("owner:me"), Method::GET, &[("owner", "you")], forbidden),
        ] {
            let checked = check(required, scope, method.clone(), path);
            assert_eq!(checked, expected, "{required:?} {scope:?} {method} {path:?}");
        }
    }
}

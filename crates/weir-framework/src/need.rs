//! What a route asks of its caller. It is named where the route is declared, and checked before the
//! handler runs.

use axum::http::Method;

use crate::auth::Identity;
use crate::auth::grant::{Access, Tenant, canonical_org};

/// What a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// No credentials; the text says why that is right.
    Nothing(&'static str),
    /// Any valid credentials.
    Anyone,
    /// The admin key, or a token with the scope `admin`.
    Admin,
    /// A grant for the tenant that the path names: `{org}` and, where it is there, `{app}`.
    Org,
    /// A grant for the namespace that the path names: `{ns}`.
    Namespace,
    /// A grant for the repository owner that the path names: `{owner}`.
    Owner,
}

/// Why a caller may not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Nobody said who is asking.
    Unknown,
    /// Who asks has no grant for this.
    Forbidden,
}

impl Need {
    /// How OpenAPI tells it, as `x-weir-scope`.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Need::Nothing(_) => "none",
            Need::Anyone => "any",
            Need::Admin => "admin",
            Need::Org => "org",
            Need::Namespace => "ns",
            Need::Owner => "owner",
        }
    }

    /// The parameter that a path must have for this need.
    pub(crate) fn parameter(self) -> Option<&'static str> {
        match self {
            Need::Nothing(_) | Need::Anyone | Need::Admin => None,
            Need::Org => Some("org"),
            Need::Namespace => Some("ns"),
            Need::Owner => Some("owner"),
        }
    }

    /// Whether `caller` may do `method` on a path with these parameters.
    pub(crate) fn check<'p>(
        self,
        caller: Option<&Identity>,
        method: &Method,
        parameters: impl Fn(&str) -> Option<&'p str>,
    ) -> Result<(), Denied> {
        if let Need::Nothing(_) = self {
            return Ok(());
        }
        let grants = &caller.ok_or(Denied::Unknown)?.grants;
        let access = if method.is_safe() { Access::Read } else { Access::Write };
        let named = self.parameter().and_then(parameters_of(&parameters));
        let allowed = match (self, named) {
            _ if grants.is_admin() => true,
            (Need::Anyone, _) => true,
            (Need::Nothing(_) | Need::Admin, _) => false,
            (Need::Org, Some(org)) => {
                let org = canonical_org(org);
                let tenant = match parameters("app") {
                    Some(app) => Tenant::App { org, app: app.to_owned() },
                    None => Tenant::Org(org),
                };
                grants.allows(&tenant, access)
            }
            (Need::Namespace, Some(ns)) => grants.allows(&Tenant::Namespace(ns.to_owned()), access),
            (Need::Owner, Some(owner)) => grants.allows(&Tenant::Owner(owner.to_owned()), access),
            // A path that names no tenant belongs to nobody but the operator.
            (_, None) => false,
        };
        if allowed { Ok(()) } else { Err(Denied::Forbidden) }
    }
}

fn parameters_of<'a, 'p>(
    parameters: &'a impl Fn(&str) -> Option<&'p str>,
) -> impl Fn(&'static str) -> Option<&'p str> + 'a {
    move |name| parameters(name)
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
        need: Need,
        scope: Option<&str>,
        method: Method,
        path: &[(&str, &str)],
    ) -> Result<(), Denied> {
        let caller = scope.map(caller);
        let find =
            |name: &str| path.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        need.check(caller.as_ref(), &method, find)
    }

    #[test]
    fn needs_are_met_by_the_grants_that_name_the_tenant() {
        let (ok, unknown, forbidden) = (Ok(()), Err(Denied::Unknown), Err(Denied::Forbidden));
        let open = Need::Nothing("tests");
        let a: &[(&str, &str)] = &[("org", "a")];
        let a_x: &[(&str, &str)] = &[("org", "a"), ("app", "x")];
        let ns: &[(&str, &str)] = &[("ns", "default")];
        let (lower, upper): (&[_], &[_]) = (&[("org", &LOWER[4..])], &[("org", &UPPER[4..])]);
        for (need, scope, method, path, expected) in [
            (open, None, Method::GET, a, ok),
            (Need::Anyone, None, Method::GET, a, unknown),
            (Need::Anyone, Some("ns:other"), Method::POST, a, ok),
            (Need::Admin, None, Method::GET, a, unknown),
            (Need::Admin, Some("org:a"), Method::GET, a, forbidden),
            (Need::Admin, Some("admin"), Method::DELETE, a, ok),
            (Need::Org, Some("org:a"), Method::PUT, a, ok),
            (Need::Org, Some("org:b"), Method::GET, a, forbidden),
            (Need::Org, Some("org:a"), Method::PUT, a_x, ok),
            (Need::Org, Some("org:a app:x"), Method::PUT, a_x, ok),
            (Need::Org, Some("org:a app:y"), Method::GET, a_x, forbidden),
            (Need::Org, Some("org:a app:x"), Method::GET, a, forbidden),
            (Need::Org, Some(LOWER), Method::GET, upper, ok),
            (Need::Org, Some(UPPER), Method::GET, lower, ok),
            (Need::Org, Some("org:A"), Method::GET, a, forbidden),
            (Need::Namespace, Some("ns:default"), Method::POST, ns, ok),
            (Need::Namespace, Some("org:default"), Method::GET, ns, forbidden),
            (Need::Namespace, Some("ns:default"), Method::GET, a, forbidden),
            (Need::Namespace, Some("admin"), Method::GET, a, ok),
            (Need::Owner, Some("owner:me"), Method::GET, &[("owner", "me")], ok),
            (Need::Owner, Some("owner:me"), Method::GET, &[("owner", "you")], forbidden),
        ] {
            let told = check(need, scope, method.clone(), path);
            assert_eq!(told, expected, "{need:?} {scope:?} {method} {path:?}");
        }
    }
}

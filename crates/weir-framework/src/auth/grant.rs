//! What a credential may do: pure rules, no store and no clock.
//!
//! A [`Grants`] is always one that its text form can say (see [`super::scope`]): tenants are unique
//! and in order, every id is there, and app grants are all of one org that is not granted as a
//! whole. So whatever is granted can be written into a token and read back the same.

use std::collections::BTreeMap;

use super::scope;

/// Bytes of the text form of grants.
pub const SCOPE_MAX: usize = 4 * 1024;
/// Grants of one credential.
pub const GRANTS_MAX: usize = 64;

/// Whose things a request is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tenant {
    /// An organisation with all its apps.
    Org(String),
    /// One app of an organisation.
    App {
        /// The organisation.
        org: String,
        /// The app.
        app: String,
    },
    /// A namespace of limits.
    Namespace(String),
    /// A person's records.
    Owner(String),
}

impl Tenant {
    /// The same tenant, with its org spelt as all others spell it.
    fn canonical(self) -> Tenant {
        match self {
            Tenant::Org(org) => Tenant::Org(canonical_org(&org)),
            Tenant::App { org, app } => Tenant::App { org: canonical_org(&org), app },
            other => other,
        }
    }
}

/// An org that is a UUID in the one way in which it is stored, however it is spelt; other texts as they are.
pub(crate) fn canonical_org(org: &str) -> String {
    let is_spelt_otherwise =
        org.len() == UUID_LEN && org.bytes().any(|byte| byte.is_ascii_uppercase());
    let id = is_spelt_otherwise.then(|| uuid::Uuid::try_parse(org).ok()).flatten();
    id.map_or_else(|| org.to_owned(), |id| id.to_string())
}

/// Characters of a UUID with its hyphens.
const UUID_LEN: usize = 36;

/// What may be done with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Look.
    Read,
    /// Look and change.
    Write,
}

/// One tenant, and what may be done there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grant {
    /// Where.
    pub tenant: Tenant,
    /// What.
    pub access: Access,
}

impl Grant {
    /// Lets its holder change what belongs to `tenant`.
    #[must_use]
    pub fn write(tenant: Tenant) -> Grant {
        let access = Access::Write;
        Grant { tenant, access }
    }

    /// Lets its holder look at what belongs to `tenant`.
    #[must_use]
    pub fn read(tenant: Tenant) -> Grant {
        let access = Access::Read;
        Grant { tenant, access }
    }

    fn allows(&self, tenant: &Tenant, access: Access) -> bool {
        let covers = match (&self.tenant, tenant) {
            (Tenant::Org(granted), Tenant::App { org, .. }) => granted == org,
            (granted, asked) => granted == asked,
        };
        covers && self.access >= access
    }
}

/// Everything a credential may do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    admin: bool,
    list: Vec<Grant>,
}

/// Why grants cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scope {part:?}: {problem}")]
pub struct GrantError {
    /// The part that is wrong, cut short where it is long.
    pub part: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl GrantError {
    /// Characters of a wrong part that an error repeats.
    const SHOWN_MAX: usize = 64;

    pub(super) fn new(part: &str, problem: &'static str) -> GrantError {
        let part = part.chars().take(Self::SHOWN_MAX).collect();
        GrantError { part, problem }
    }
}

impl Grants {
    /// May do everything.
    #[must_use]
    pub fn admin() -> Grants {
        let list = Vec::new();
        Grants { admin: true, list }
    }

    /// Exactly these. Of two for one tenant the wider counts.
    ///
    /// # Errors
    /// An id is empty, there are too many, or app grants stand beside more than their one org.
    pub fn new(list: impl IntoIterator<Item = Grant>) -> Result<Grants, GrantError> {
        Grants::checked(false, list)
    }

    pub(super) fn checked(
        admin: bool,
        list: impl IntoIterator<Item = Grant>,
    ) -> Result<Grants, GrantError> {
        let mut unique = BTreeMap::new();
        for Grant { tenant, access } in list {
            let widest = unique.entry(tenant.canonical()).or_insert(access);
            *widest = access.max(*widest);
            if unique.len() > GRANTS_MAX {
                return Err(GrantError::new("", "holds more than 64 grants"));
            }
        }
        let list = unique.into_iter();
        let list = list.map(|(tenant, access)| Grant { tenant, access });
        let grants = Grants { admin, list: list.collect() };
        grants.check()?;
        Ok(grants)
    }

    fn check(&self) -> Result<(), GrantError> {
        for Grant { tenant, .. } in &self.list {
            let ids = match tenant {
                Tenant::Org(id) | Tenant::Namespace(id) | Tenant::Owner(id) => [id, id],
                Tenant::App { org, app } => [org, app],
            };
            if ids.iter().any(|id| id.is_empty()) {
                return Err(GrantError::new("", "an id is empty"));
            }
        }
        let orgs = self.list.iter().filter_map(|grant| match &grant.tenant {
            Tenant::Org(_) => Some(None),
            Tenant::App { org, .. } => Some(Some(org)),
            _ => None,
        });
        let mut orgs: Vec<Option<&String>> = orgs.collect();
        orgs.dedup();
        if orgs.len() > 1 && orgs.iter().any(Option::is_some) {
            let problem = "an app grant stands beside exactly one org, its own";
            return Err(GrantError::new("app", problem));
        }
        if scope::print(self).len() > SCOPE_MAX {
            return Err(GrantError::new("", "is longer than 4096 bytes"));
        }
        Ok(())
    }

    /// Whether everything is allowed.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.admin
    }

    /// The grants, in order.
    #[must_use]
    pub fn list(&self) -> &[Grant] {
        &self.list
    }

    /// Whether `access` to what belongs to `tenant` is allowed. An org's grant reaches its apps; an
    /// app's grant reaches neither its org nor the org's other apps.
    #[must_use]
    pub fn allows(&self, tenant: &Tenant, access: Access) -> bool {
        self.admin || self.list.iter().any(|grant| grant.allows(tenant, access))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn org(id: &str) -> Tenant {
        Tenant::Org(id.into())
    }

    fn app(org: &str, app: &str) -> Tenant {
        let (org, app) = (org.into(), app.into());
        Tenant::App { org, app }
    }

    #[test]
    fn an_org_reaches_its_apps_and_no_other_org() {
        let grants = Grants::new([Grant::write(org("a"))]).unwrap();
        assert!(grants.allows(&org("a"), Access::Write));
        assert!(grants.allows(&app("a", "x"), Access::Write));
        assert!(!grants.allows(&org("b"), Access::Read));
        assert!(!grants.allows(&app("b", "x"), Access::Read));
        assert!(!grants.allows(&Tenant::Namespace("a".into()), Access::Read));
        assert!(!grants.allows(&Tenant::Owner("a".into()), Access::Read));
    }

    #[test]
    fn an_app_reaches_only_itself() {
        let grants = Grants::new([Grant::write(app("a", "x"))]).unwrap();
        assert!(grants.allows(&app("a", "x"), Access::Write));
        assert!(!grants.allows(&app("a", "y"), Access::Read));
        assert!(!grants.allows(&app("b", "x"), Access::Read));
        assert!(!grants.allows(&org("a"), Access::Read));
    }

    #[test]
    fn reading_is_not_writing() {
        let grants = Grants::new([Grant::read(org("a"))]).unwrap();
        assert!(grants.allows(&org("a"), Access::Read));
        assert!(!grants.allows(&org("a"), Access::Write));
        assert!(!grants.allows(&app("a", "x"), Access::Write));
    }

    #[test]
    fn an_admin_may_everything_and_nobody_nothing() {
        for tenant in [org("a"), app("a", "x"), Tenant::Owner("o".into())] {
            assert!(Grants::admin().allows(&tenant, Access::Write));
            assert!(!Grants::default().allows(&tenant, Access::Read));
        }
    }

    #[test]
    fn the_wider_of_two_grants_counts() {
        let grants = Grants::new([Grant::write(org("a")), Grant::read(org("a"))]).unwrap();
        assert_eq!(grants.list(), [Grant::write(org("a"))]);
    }

    #[test]
    fn grants_that_no_text_can_say_are_refused() {
        let refused = |list: Vec<Grant>| Grants::new(list).unwrap_err().to_string();
        let beside = "an app grant stands beside exactly one org, its own";
        let app = |of: &str| Grant::read(app(of, "x"));
        assert!(refused(vec![app("a"), app("b")]).contains(beside));
        assert!(refused(vec![app("a"), Grant::read(org("a"))]).contains(beside));
        assert!(refused(vec![app("a"), Grant::read(org("b"))]).contains(beside));
        assert!(refused(vec![Grant::read(org(""))]).contains("an id is empty"));
        let many = (0..65).map(|n| Grant::read(org(&n.to_string()))).collect();
        assert!(refused(many).contains("more than 64 grants"));
        let long = vec![Grant::read(org(&"x".repeat(SCOPE_MAX)))];
        assert!(refused(long).contains("longer than 4096 bytes"));
    }
}

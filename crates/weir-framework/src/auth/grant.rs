//! The access that a credential grants: pure rules, no store and no clock.
//!
//! [`super::scope`] converts a [`Grants`] to text and back without loss: grants are unique and sorted, no id is empty, and
//! inner grants of a kind with two parts (`org:1 app:x`) belong to one outer tenant that is not granted as a whole.

use std::collections::BTreeSet;

use super::scope;
use super::scope_kind::ScopeKind;

/// Bytes of the text form of grants.
pub const SCOPE_MAX: usize = 4 * 1024;
/// Grants of one credential.
pub const GRANTS_MAX: usize = 64;

/// The actions that a grant permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Reading.
    Read,
    /// One action of the scope's kind, and reading.
    Action(&'static str),
    /// Every action.
    Write,
}

impl Access {
    fn includes(self, other: Access) -> bool {
        self == Access::Write || other == Access::Read || self == other
    }

    /// The access that both permit.
    pub(super) fn and(self, other: Access) -> Access {
        match (self.includes(other), other.includes(self)) {
            (true, _) => other,
            (_, true) => self,
            _ => Access::Read,
        }
    }
}

/// A tenant, and the actions that are permitted there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The kind of scope.
    pub kind: &'static ScopeKind,
    /// The ids that name the tenant, outermost first. Without ids, every tenant.
    pub ids: Vec<String>,
    /// The permitted actions.
    pub access: Access,
}

impl Grant {
    /// Permits `access` to the tenant with these ids.
    #[must_use]
    pub fn new(kind: &'static ScopeKind, ids: &[&str], access: Access) -> Grant {
        let ids = ids.iter().zip(kind.levels).map(|(id, level)| (level.canonical)(id).into_owned());
        Grant { kind, ids: ids.collect(), access }
    }

    /// Whether the grant, or the same grant of the kind's parent, includes the tenant with these ids.
    fn allows(&self, kind: &ScopeKind, ids: &[&str], access: Access) -> bool {
        let of_parent = |parent: &ScopeKind| self.allows_tenant(parent, &[], access);
        self.allows_tenant(kind, ids, access) || kind.parent.is_some_and(of_parent)
    }

    fn allows_tenant(&self, kind: &ScopeKind, ids: &[&str], access: Access) -> bool {
        let mut levels = self.ids.iter().zip(ids).zip(kind.levels);
        self.kind == kind
            && self.ids.len() <= ids.len()
            && levels.all(|((granted, id), level)| *granted == (level.canonical)(id))
            && self.access.includes(access)
    }
}

impl PartialOrd for Grant {
    fn partial_cmp(&self, other: &Grant) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Grant {
    fn cmp(&self, other: &Grant) -> std::cmp::Ordering {
        let key = |grant: &'_ Grant| (grant.kind.name, grant.access);
        let ((name, access), (other_name, other_access)) = (key(self), key(other));
        let by_ids = || self.ids.cmp(&other.ids);
        name.cmp(other_name).then_with(by_ids).then(access.cmp(&other_access))
    }
}

/// The grants of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    admin: bool,
    list: Vec<Grant>,
}

/// Why grants are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part:?}: {problem}")]
pub struct GrantError {
    /// The wrong part, shortened if it is long.
    pub part: String,
    /// The reason why it is refused.
    pub problem: String,
}

impl GrantError {
    /// Characters of a wrong part that an error repeats.
    const SHOWN_MAX: usize = 64;

    pub(super) fn new(part: &str, problem: impl Into<String>) -> GrantError {
        let part = part.chars().take(Self::SHOWN_MAX).collect();
        GrantError { part, problem: problem.into() }
    }
}

impl Grants {
    /// Permits everything.
    #[must_use]
    pub fn admin() -> Grants {
        Grants { admin: true, list: Vec::new() }
    }

    /// Exactly these grants. A grant that another one includes is left out.
    ///
    /// # Errors
    /// An id is empty, there are too many grants, or inner grants stand beside more than their one outer tenant.
    pub fn new(list: impl IntoIterator<Item = Grant>) -> Result<Grants, GrantError> {
        Grants::checked(false, list)
    }

    pub(super) fn checked(
        admin: bool,
        list: impl IntoIterator<Item = Grant>,
    ) -> Result<Grants, GrantError> {
        let mut unique = BTreeSet::new();
        for grant in list {
            unique.insert(grant);
            if unique.len() > GRANTS_MAX {
                return Err(GrantError::new("", "has more than 64 grants"));
            }
        }
        let is_widest = |grant: &&Grant| {
            let same_tenant = |other: &&Grant| other.kind == grant.kind && other.ids == grant.ids;
            let mut others = unique.iter().filter(same_tenant);
            !others.any(|other| other != *grant && other.access.includes(grant.access))
        };
        let list = unique.iter().filter(is_widest).cloned().collect();
        let grants = Grants { admin, list };
        grants.check()?;
        Ok(grants)
    }

    fn check(&self) -> Result<(), GrantError> {
        for grant in &self.list {
            if grant.ids.iter().any(String::is_empty) {
                return Err(GrantError::new("", "an id is empty"));
            }
            if grant.ids.is_empty() && !grant.kind.without_tenant {
                return Err(GrantError::new(grant.kind.name, "names no tenant"));
            }
        }
        for grant in self.list.iter().filter(|grant| grant.ids.len() > 1) {
            let Some(inner) = grant.kind.inner else { continue };
            let mut beside = self.list.iter().filter(|other| other.kind == grant.kind);
            if beside.any(|other| other.ids.len() < 2 || other.ids.first() != grant.ids.first()) {
                let problem = format!("stands beside exactly one {}, its own", grant.kind.name);
                return Err(GrantError::new(inner, problem));
            }
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

    /// The grants, sorted.
    #[must_use]
    pub fn list(&self) -> &[Grant] {
        &self.list
    }

    /// Whether `access` to any tenant of a kind is allowed.
    #[must_use]
    pub fn allows_any(&self, kind: &ScopeKind, access: Access) -> bool {
        let of_kind = |grant: &Grant| grant.kind == kind && grant.access.includes(access);
        let of_parent = |grant: &Grant| {
            kind.parent.is_some_and(|parent| grant.allows_tenant(parent, &[], access))
        };
        self.admin || self.list.iter().any(|grant| of_kind(grant) || of_parent(grant))
    }

    /// Whether `access` to the tenant with these ids is allowed. An org's grant includes its apps; an app's grant includes
    /// neither its org nor the org's other apps.
    #[must_use]
    pub fn allows(&self, kind: &ScopeKind, ids: &[&str], access: Access) -> bool {
        self.admin || self.list.iter().any(|grant| grant.allows(kind, ids, access))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::test_kinds::{AUTHOR, NOTES, NS, ORG, REVIEWS};

    fn org(ids: &[&str], access: Access) -> Grant {
        Grant::new(&ORG, ids, access)
    }

    #[test]
    fn a_grant_includes_what_is_inside_its_tenant() {
        let grants = Grants::new([org(&["a"], Access::Write), org(&["b"], Access::Read)]).unwrap();
        for (ids, access, allowed) in [
            (&["a"][..], Access::Write, true),
            (&["a", "x"], Access::Write, true),
            (&["b"], Access::Read, true),
            (&["b", "x"], Access::Read, true),
            (&["b"], Access::Write, false),
            (&["b"], Access::Action("submit"), false),
            (&["c"], Access::Read, false),
        ] {
            assert_eq!(grants.allows(&ORG, ids, access), allowed, "{ids:?} {access:?}");
        }
        assert!(!grants.allows(&NS, &["a"], Access::Read));
        let app = Grants::new([org(&["a", "x"], Access::Write)]).unwrap();
        assert!(app.allows(&ORG, &["a", "x"], Access::Write));
        for ids in [&["a"][..], &["a", "y"], &["b", "x"]] {
            assert!(!app.allows(&ORG, ids, Access::Read), "{ids:?}");
        }
        assert!(Grants::admin().allows(&ORG, &["a"], Access::Write));
        assert!(!Grants::default().allows(&ORG, &["a"], Access::Read));
    }

    #[test]
    fn an_action_includes_itself_and_reading_only() {
        let acquire = Access::Action("acquire");
        let grants = Grants::new([Grant::new(&NS, &["n"], acquire)]).unwrap();
        assert!(grants.allows(&NS, &["n"], acquire));
        assert!(grants.allows(&NS, &["n"], Access::Read));
        assert!(!grants.allows(&NS, &["n"], Access::Write));
        assert!(!grants.allows(&NS, &["n"], Access::Action("other")));
    }

    #[test]
    fn a_grant_without_a_tenant_includes_them_all() {
        let grants = Grants::new([Grant::new(&REVIEWS, &[], Access::Read)]).unwrap();
        for ids in [&[][..], &["o"], &["o", "r"]] {
            assert!(grants.allows(&REVIEWS, ids, Access::Read));
            assert!(!grants.allows(&REVIEWS, ids, Access::Write));
        }
        let one = Grants::new([Grant::new(&REVIEWS, &["o"], Access::Write)]).unwrap();
        assert!(!one.allows(&REVIEWS, &[], Access::Read));
        assert!(one.allows_any(&REVIEWS, Access::Write) && !one.allows_any(&NS, Access::Read));
        assert!(!grants.allows_any(&REVIEWS, Access::Write));
    }

    #[test]
    fn a_grant_of_a_kind_includes_the_kinds_within_it() {
        let all = Grants::new([Grant::new(&NOTES, &[], Access::Read)]).unwrap();
        assert!(all.allows(&AUTHOR, &["1"], Access::Read) && all.allows_any(&AUTHOR, Access::Read));
        assert!(!all.allows(&AUTHOR, &["1"], Access::Write));
        assert!(!all.allows_any(&AUTHOR, Access::Write));
        let one = Grants::new([Grant::new(&AUTHOR, &["1"], Access::Write)]).unwrap();
        assert!(one.allows(&AUTHOR, &["1"], Access::Write));
        assert!(!one.allows(&AUTHOR, &["2"], Access::Read));
        assert!(!one.allows(&NOTES, &[], Access::Read) && !one.allows_any(&NOTES, Access::Read));
    }

    #[test]
    fn the_wider_of_two_grants_counts() {
        let read = Grant::new(&NS, &["a"], Access::Read);
        let acquire = Grant::new(&NS, &["a"], Access::Action("acquire"));
        let write = Grant::new(&NS, &["a"], Access::Write);
        let all = [write.clone(), read.clone(), acquire.clone()];
        assert_eq!(Grants::new(all).unwrap().list(), [write]);
        assert_eq!(Grants::new([acquire.clone(), read]).unwrap().list(), [acquire]);
    }

    #[test]
    fn grants_that_no_text_can_say_are_refused() {
        let refused = |list: Vec<Grant>| Grants::new(list).unwrap_err().to_string();
        let beside = "stands beside exactly one org, its own";
        let app = |of: &str| org(&[of, "x"], Access::Read);
        assert!(refused(vec![app("a"), app("b")]).contains(beside));
        assert!(refused(vec![app("a"), org(&["a"], Access::Read)]).contains(beside));
        assert!(refused(vec![app("a"), org(&["b"], Access::Read)]).contains(beside));
        assert!(refused(vec![org(&[""], Access::Read)]).contains("an id is empty"));
        assert!(refused(vec![org(&[], Access::Read)]).contains("names no tenant"));
        let many = (0..65).map(|n| org(&[&n.to_string()], Access::Read)).collect();
        assert!(refused(many).contains("more than 64 grants"));
        let long = vec![org(&[&"x".repeat(SCOPE_MAX)], Access::Read)];
        assert!(refused(long).contains("longer than 4096 bytes"));
    }
}

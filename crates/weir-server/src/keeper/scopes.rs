//! The keeper's scopes: `org:{org}` for an org and its apps, `org:{org} app:{app}` for one app. With the action `submit` a
//! program selects models and submits usage, and registers no profiles.

use std::borrow::Cow;

use weir_framework::auth::scope_kind::{Level, ScopeKind};
use weir_keeper::ids::OrgId;

/// The action of a program that calls models.
pub(super) const SUBMIT: &str = "submit";

/// `org:{org}` and `org:{org} app:{app}`.
pub(crate) static ORG: ScopeKind = ScopeKind::new(
    "org",
    &[Level { parameter: "org", canonical: canonical_org }, Level::exact("app")],
)
.with_inner("app")
.with_actions(&[SUBMIT]);

/// Characters of a UUID with its hyphens.
const UUID_LEN: usize = 36;

/// An org that is a UUID as it is stored, however the caller spells it; other texts unchanged.
fn canonical_org(org: &str) -> Cow<'_, str> {
    let has_upper_case = org.len() == UUID_LEN && org.bytes().any(|byte| byte.is_ascii_uppercase());
    let id = has_upper_case.then(|| OrgId::new(org).ok()).flatten();
    id.map_or(Cow::Borrowed(org), |id| Cow::Owned(id.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_org_has_one_spelling() {
        let lower = "550e8400-e29b-41d4-a716-4466554400ab";
        assert_eq!(canonical_org(&lower.to_uppercase()), lower);
        assert_eq!(canonical_org(lower), lower);
        assert_eq!(canonical_org("ACME"), "ACME");
    }
}

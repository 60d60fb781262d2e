//! Budgets of many orgs on their present days.

use axum::extract::State;
use weir_api::keeper::{Budget, BudgetParams};
use weir_keeper::Listed;
use weir_keeper::config::OrgRecord;
use weir_keeper::deletion::Deleted;
use weir_keeper::ids::OrgId;

use super::convert;
use super::error::{KeeperError, Reply};
use super::path::keeper;
use super::rates::allowances;
use super::scopes::ORG;
use weir_framework::actor::Actor;
use weir_framework::app::App;
use weir_framework::auth::grant::{Access, Grants};
use weir_framework::authorize::Caller;
use weir_framework::extract::QueryParts;
use weir_framework::page::{Page, PageLimit as _, PageParams, page_response};

/// Days of the series of a budget, today included.
const DAYS: usize = 14;

/// The days of the series of a budget, as days ago, the oldest first.
pub(crate) fn series_days() -> Vec<usize> {
    (0..DAYS).rev().collect()
}

/// The orgs whose figures a caller may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadableOrgs {
    All,
    These(Vec<OrgId>),
}

impl ReadableOrgs {
    /// The orgs that these grants name as a whole; an app's grant does not reach its org's figures.
    pub(crate) fn of(grants: &Grants) -> ReadableOrgs {
        if grants.is_admin() {
            return ReadableOrgs::All;
        }
        let orgs = grants.list().iter().filter(|grant| *grant.kind == ORG && grant.ids.len() == 1);
        let ids = orgs.filter_map(|grant| OrgId::new(grant.ids.first()?).ok());
        ReadableOrgs::These(ids.collect())
    }
}

/// Lists the budgets of orgs on their present days
///
/// An administrator gets all orgs, by id; a token those that its scope names.
#[utoipa::path(get, path = "/api/v1/budgets", tag = "orgs", params(BudgetParams, PageParams),
    responses((status = 200, body = Page<Budget>)))]
pub(crate) async fn budgets(
    State(app): State<App>,
    Caller(caller): Caller,
    actor: Actor,
    QueryParts((wanted, page)): QueryParts<(BudgetParams, PageParams)>,
) -> Reply<Page<Budget>> {
    allowances(&app)?.aggregates(&app, &actor).await?;
    let found = match wanted.org {
        Some(org) => {
            page.checked_limit()?;
            let org = OrgId::new(org)?;
            Caller(caller).require(&ORG, &[org.as_str()], Access::Read)?;
            whole(keeper(&app)?.org_records(&[org]).await?)
        }
        None => records(&app, &ReadableOrgs::of(&caller.grants), page).await?,
    };
    let items = keeper(&app)?.orgs_today(found.items, &series_days()).await?;
    Ok(page_response(Listed { items, cursor: found.cursor }, convert::budget))
}

/// A page of the orgs that a caller may read.
async fn records(
    app: &App,
    orgs: &ReadableOrgs,
    page: PageParams,
) -> Result<Listed<OrgRecord>, KeeperError> {
    let (limit, keeper) = (page.checked_limit()?, keeper(app)?);
    match orgs {
        ReadableOrgs::All => {
            Ok(keeper.list_org_records(limit, page.cursor, Deleted::Hidden).await?)
        }
        // A token names at most 64 orgs, so they are one page.
        ReadableOrgs::These(orgs) => Ok(whole(keeper.org_records(orgs).await?)),
    }
}

fn whole<T>(items: Vec<T>) -> Listed<T> {
    Listed { items, cursor: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_framework::auth::grant::Grant;

    #[test]
    fn only_orgs_that_are_granted_as_a_whole_are_readable() {
        let grants = |list: Vec<Grant>| Grants::new(list).unwrap();
        let org = |ids: &[&str]| Grant::new(&ORG, ids, Access::Read);
        let these = |ids: &[&str]| {
            ReadableOrgs::These(ids.iter().map(|id| OrgId::new(*id).unwrap()).collect())
        };
        assert_eq!(ReadableOrgs::of(&Grants::admin()), ReadableOrgs::All);
        let two = grants(vec![org(&["a"]), org(&["b"])]);
        assert_eq!(ReadableOrgs::of(&two), these(&["a", "b"]));
        assert_eq!(ReadableOrgs::of(&grants(vec![org(&["a", "x"])])), these(&[]));
        assert_eq!(ReadableOrgs::of(&Grants::default()), these(&[]));
    }
}

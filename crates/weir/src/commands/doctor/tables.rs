//! The tables that Weir uses: keys, indexes, expiry attribute and change feed, one finding for each table.

use std::collections::BTreeSet;

use weir_framework::{auth, jobs, security};
use weir_table::feed::{POSITIONS_TABLE, positions_spec};
use weir_table::{Error, TableSpec};

use super::{Finding, STORE_WITHIN};
use crate::config::Config;
use crate::failure::Failure;
use crate::store_location::{Missing, StoreLocation};
use crate::tables::Tables;

const CHECK: &str = "table";

/// Checks all tables.
pub(super) async fn examine(location: &StoreLocation, config: &Config) -> Vec<Finding> {
    let specs = specs(config);
    let examined = location.with(Missing::Refuse, async |tables| all(tables, &specs).await);
    match tokio::time::timeout(STORE_WITHIN, examined).await {
        Ok(Ok(findings)) => findings,
        Ok(Err(failure)) => vec![Finding::failed(CHECK, &failure)],
        Err(_) => Vec::new(),
    }
}

/// The schemas of all tables that a server uses.
fn specs(config: &Config) -> Vec<TableSpec> {
    let mut specs = config.services().tables();
    specs.extend(auth::keys::tables());
    specs.push(security::keys::table());
    specs.extend([jobs::table_spec(), positions_spec(POSITIONS_TABLE)]);
    // The keeper and the authorization share the table of revoked tokens.
    let mut names = BTreeSet::new();
    specs.retain(|spec| names.insert(spec.name.clone()));
    specs
}

async fn all(tables: &Tables, specs: &[TableSpec]) -> Result<Vec<Finding>, Failure> {
    let names = tables.names().await?;
    if specs.iter().all(|spec| !names.contains(&spec.name)) {
        let detail = "none of Weir's own exists yet; `weir serve` creates them";
        return Ok(vec![Finding::good(CHECK, detail)]);
    }
    let mut findings = Vec::with_capacity(specs.len());
    for spec in specs {
        findings.push(one(tables, spec).await?);
    }
    Ok(findings)
}

async fn one(tables: &Tables, spec: &TableSpec) -> Result<Finding, Failure> {
    let found = match tables.spec(&spec.name).await {
        Ok(found) => Some(found),
        Err(Error::NoSuchTable(_)) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(finding(spec, found.as_ref()))
}

fn finding(spec: &TableSpec, found: Option<&TableSpec>) -> Finding {
    let name = &spec.name;
    let Some(found) = found else {
        return Finding::warning(CHECK, format!("{name} does not exist yet"))
            .next("`weir serve` creates it");
    };
    let with_ttl = TableSpec { ttl: spec.ttl.clone(), ..found.clone() };
    let differences = spec.differences(found);
    if differences.is_empty() {
        return Finding::good(CHECK, format!("{name} has its keys, indexes, expiry and feed"));
    }
    if found.ttl.is_none() && spec.differences(&with_ttl).is_empty() {
        return Finding::warning(CHECK, format!("{name} never removes expired items"))
            .next("`weir serve` switches its TTL on");
    }
    let detail = format!("{name} has another schema: {}", differences.join("; "));
    let next = match found.attributes.keys().any(|name| name.starts_with("LSI")) {
        true => {
            "a newer zae-limiter made it: set limiter.table to another name, and copy it with `weir limiter import-zae`"
        }
        false => {
            "choose another store.table_prefix, or recreate the table and copy its items with `weir copy`"
        }
    };
    Finding::wrong(CHECK, detail).next(next)
}

#[cfg(test)]
mod tests {
    use weir_table::Kind;

    use super::super::State;
    use super::*;

    #[test]
    fn every_difference_of_a_table_is_named() {
        let spec = weir_limiter::table::spec("limits", false);
        assert_eq!(finding(&spec, Some(&spec)).state, State::Good);
        assert_eq!(finding(&spec, None).state, State::Warning);
        let no_ttl = TableSpec { ttl: None, ..spec.clone() };
        let found = finding(&spec, Some(&no_ttl));
        assert_eq!((found.state, found.next.is_some()), (State::Warning, true));
        let other_ttl = TableSpec { ttl: Some("expires".into()), ..spec.clone() };
        let no_feed = TableSpec { feed: false, ..no_ttl.clone() };
        let no_sort = TableSpec { sort: None, ..spec.clone() };
        let shared = weir_limiter::table::spec("limits", true);
        let no_index = TableSpec { indexes: spec.indexes[1..].to_vec(), ..spec.clone() };
        for (table, named) in [
            (other_ttl, "ttl: expected ttl, found expires"),
            (no_feed, "feed: expected on, found off"),
            (no_sort, "sort: expected SK, found none"),
            (shared, "index GSI2: expected GSI2PK and GSI2SK with keys only"),
            (no_index, "index GSI1: expected GSI1PK and GSI1SK with all attributes, found none"),
        ] {
            let found = finding(&spec, Some(&table));
            assert_eq!(found.state, State::Wrong);
            assert!(found.detail.contains(named), "{}", found.detail);
        }
        let later = spec.clone().attribute("LSI1SK", Kind::S);
        let next = finding(&spec, Some(&later)).next.unwrap();
        assert!(next.contains("import-zae"), "{next}");
    }
}

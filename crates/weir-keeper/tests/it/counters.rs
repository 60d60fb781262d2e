//! Concurrent increments of counters, and late writes of totals.

use std::collections::BTreeMap;

use weir_keeper::counters::Counters;
use weir_keeper::day::OrgDay;
use weir_keeper::ids::{AppId, Label, OrgId, Scope};
use weir_keeper::keys;
use weir_keeper::money::{MicroUsd, TokenUse};
use weir_table::{Get, Key};

use crate::scene::Scene;

scenes!(nothing_is_lost_or_counted_twice, a_late_sum_does_not_take_a_total_back);

fn scopes() -> [Scope; 2] {
    let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
    let app = AppId::new("app-production-api").unwrap();
    [Scope::Org(org.clone()), Scope::App(org, app)]
}

fn shard(scope: &Scope) -> Key {
    let day = OrgDay::new(2037, 1, 23).unwrap();
    keys::usage(scope, &Label::new("premium").unwrap(), 3, day)
}

async fn nothing_is_lost_or_counted_twice(scene: &Scene) {
    const WRITERS: u64 = 8;
    const EACH: u64 = 5;
    let tables = scene.keeper.tables().clone();
    let writers = (0..WRITERS).map(|writer| {
        let (keeper, table) = (scene.keeper.clone(), tables.usage_agg_sharded.clone());
        tokio::spawn(async move {
            for _ in 0..EACH {
                let tokens = TokenUse { input: 1, ..TokenUse::default() };
                let one = Counters::one(MicroUsd(writer), tokens);
                let hours = BTreeMap::new();
                let add = |scope| {
                    one.add_to_shard(table.clone(), shard(scope), 0, 4_000_000_000_000, &hours)
                };
                // The org's counter and the app's in one transaction.
                let writes = scopes().each_ref().map(add).to_vec();
                assert!(keeper.transact(writes).await.unwrap().is_applied());
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    for scope in scopes() {
        let get = Get::new(tables.usage_agg_sharded.clone(), shard(&scope));
        let found = Counters::decode(&scene.store.get(&get).await.unwrap().unwrap()).unwrap();
        assert_eq!((found.requests, found.tokens.input), (WRITERS * EACH, WRITERS * EACH));
        assert_eq!(found.cost, MicroUsd(EACH * (0..WRITERS).sum::<u64>()));
    }
}

async fn a_late_sum_does_not_take_a_total_back(scene: &Scene) {
    let [scope, _] = scopes();
    let label = Label::new("premium").unwrap();
    let key = keys::total(&scope, &label, OrgDay::new(2037, 1, 23).unwrap());
    let table = scene.keeper.tables().daily_total.clone();
    let some = |requests, cost| Counters { requests, cost: MicroUsd(cost), ..Counters::default() };
    for (sum, is_written) in
        [(some(1, 5), true), (some(3, 9), true), (some(2, 7), false), (some(3, 9), true)]
    {
        let write = sum.put_as_total(table.clone(), key.clone(), 0, 4_000_000_000_000);
        let written = scene.keeper.write(write).await.unwrap();
        assert_eq!(written.is_applied(), is_written, "{sum:?}");
    }
    let found = scene.store.get(&Get::new(table, key)).await.unwrap().unwrap();
    assert_eq!(Counters::decode(&found).unwrap(), some(3, 9));
}

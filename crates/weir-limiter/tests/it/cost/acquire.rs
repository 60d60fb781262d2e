//! Taking tokens.

use weir_limiter::acquire::Acquire;
use weir_limiter::lease::OnExpiry;
use weir_table::Write;
use weir_table::expr::set;

use super::{Tenant, default_of};
use crate::acquire::{granted, refused, request};
use crate::scene::{Scene, entity, resource};
use weir_testkit::ledger::Ledger;

fn one(who: &str) -> Acquire {
    request(who, &[("rpm", 1), ("tpm", 100)], &[])
}

pub(super) async fn measure(scene: &Scene, ledger: &mut Ledger<'_>) {
    warm(scene, ledger).await;
    cold(scene, ledger).await;
    dry(scene, ledger).await;
    hot(scene, ledger).await;
}

/// What almost every acquire is.
async fn warm(scene: &Scene, ledger: &mut Ledger<'_>) {
    let ns = &scene.ns;
    for who in ["user-1", "child-1"] {
        granted(ns.acquire(&one(who)).await.unwrap());
    }
    granted(ledger.note("acquire", ns.acquire(&one("user-1"))).await.unwrap());
    let family = ledger.note("acquire, child and parent", ns.acquire(&one("child-1"))).await;
    assert_eq!(granted(family.unwrap()).grant.takes.len(), 2);
    let held = Acquire { on_expiry: OnExpiry::Rollback, ..one("user-1") };
    granted(ledger.note("acquire, `on_expiry: rollback`", ns.acquire(&held)).await.unwrap());
    let keyed = Acquire { idempotency_key: Some("key".to_owned()), ..one("user-1") };
    for name in ["acquire, with an idempotency key", "acquire, repeated with the same key"] {
        granted(ledger.note(name, ns.acquire(&keyed)).await.unwrap());
    }
    let none = std::collections::BTreeMap::new();
    let (who, what) = (entity("user-1"), resource("gpt-4"));
    let look = ns.availability(&who, &what, &none);
    ledger.note("availability", look).await.unwrap();
}

/// What a process pays that has just begun.
async fn cold(scene: &Scene, ledger: &mut Ledger<'_>) {
    let fresh = async || default_of(&scene.another().await).await;
    let ns = fresh().await;
    let name = "acquire, the process's first, of a bucket that is there";
    granted(ledger.note(name, ns.acquire(&one("user-1"))).await.unwrap());
    let name = "acquire, the process's first, child and parent that are there";
    let family = granted(ledger.note(name, ns.acquire(&one("child-1"))).await.unwrap());
    assert_eq!(family.grant.takes.len(), 2);
    let ns = fresh().await;
    let name = "acquire, makes the bucket, config not remembered";
    granted(ledger.note(name, ns.acquire(&one("user-2"))).await.unwrap());
    let name = "acquire, makes the bucket, resource's and system's config remembered";
    granted(ledger.note(name, ns.acquire(&one("user-3"))).await.unwrap());
}

/// What a bucket costs that runs dry.
async fn dry(scene: &Scene, ledger: &mut Ledger<'_>) {
    let ns = &scene.ns;
    let all = |who| request(who, &[("rpm", 1_000)], &[]);
    granted(ns.acquire(&all("dry-1")).await.unwrap());
    refused(ledger.note("refusal", ns.acquire(&one("dry-1"))).await.unwrap());
    refused(ledger.note("refusal, repeated", ns.acquire(&one("dry-1"))).await.unwrap());
    scene.clock.advance_ms(10_000);
    granted(ledger.note("acquire, refills the bucket", ns.acquire(&one("dry-1"))).await.unwrap());
    // What the parent has left is less than the child.
    granted(ns.acquire(&all("team-1")).await.unwrap());
    let name = "refusal by the parent, the child is given back";
    let no = refused(ledger.note(name, ns.acquire(&one("child-1"))).await.unwrap());
    assert_eq!(no.limits.len(), 4);
}

/// What a bucket costs that is hotter than a partition.
async fn hot(scene: &Scene, ledger: &mut Ledger<'_>) {
    let ns = &scene.ns;
    granted(ns.acquire(&one("hot-1")).await.unwrap());
    for (name, shards) in
        [("acquire, doubles one shard to 2", 1), ("acquire, doubles 2 shards to 4", 2)]
    {
        heat(scene, ns, "hot-1", shards).await;
        granted(ledger.note(name, ns.acquire(&one("hot-1"))).await.unwrap());
    }
    let name = "acquire, of a bucket with 4 shards";
    granted(ledger.note(name, ns.acquire(&one("hot-1"))).await.unwrap());
    let most = request("hot-1", &[("rpm", 900)], &[]);
    let name = "acquire, gathers from 4 shards";
    let gathered = granted(ledger.note(name, ns.acquire(&most)).await.unwrap());
    assert_eq!(gathered.grant.takes[0].shards.len(), 4);
}

/// Makes all shards look hot.
async fn heat(scene: &Scene, ns: &Tenant, who: &str, shards: u32) {
    for shard in 0..shards {
        let key = weir_limiter::keys::bucket(ns.id(), &entity(who), &resource("gpt-4"), shard);
        let table = scene.limiter.settings().table.as_str();
        let hot = Write::update(table, key, set("b_wcu_tk", 0));
        assert!(scene.store.write(hot).await.unwrap().is_applied());
    }
}

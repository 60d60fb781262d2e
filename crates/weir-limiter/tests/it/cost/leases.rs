//! What follows an acquire.

use std::collections::BTreeMap;

use weir_limiter::acquire::Acquire;
use weir_limiter::ids::LimitName;
use weir_limiter::lease::{Grant, Leased, OnExpiry, Settle};

use crate::acquire::{granted, request};
use crate::scene::{Scene, limit_name};
use weir_testkit::ledger::Ledger;

fn ask(who: &str, on_expiry: OnExpiry) -> Acquire {
    Acquire { on_expiry, ..request(who, &[("rpm", 1), ("tpm", 100)], &[]) }
}

async fn take(scene: &Scene, who: &str, on_expiry: OnExpiry) -> Grant {
    granted(scene.ns.acquire(&ask(who, on_expiry)).await.unwrap()).grant
}

fn tpm(amount: i64) -> BTreeMap<LimitName, i64> {
    [(limit_name("tpm"), amount)].into()
}

pub(super) async fn measure(scene: &Scene, ledger: &mut Ledger<'_>) {
    let ns = &scene.ns;
    let grant = take(scene, "lessee", OnExpiry::Keep).await;
    let adjust = Settle::Adjust(tpm(-20));
    ledger.note("adjust, the lease's first", ns.settle(&grant, &adjust, Some("a"))).await.unwrap();
    let name = "adjust, repeated with the same key";
    ledger.note(name, ns.settle(&grant, &adjust, Some("a"))).await.unwrap();
    ledger.note("adjust, further", ns.settle(&grant, &adjust, Some("b"))).await.unwrap();
    ledger.note("commit after an adjust", ns.settle(&grant, &Settle::Commit, None)).await.unwrap();
    for (name, settle) in [
        ("commit", Settle::Commit),
        ("commit with `actual`", Settle::CommitActual(tpm(80))),
        ("release of a part", Settle::Release(tpm(10))),
        ("release", Settle::Release(BTreeMap::new())),
        ("rollback", Settle::Rollback),
    ] {
        let grant = take(scene, "lessee", OnExpiry::Keep).await;
        ledger.note(name, ns.settle(&grant, &settle, None)).await.unwrap();
    }
    let name = "rollback of child and parent";
    scene.clock.advance_ms(60_000);
    let family = take(scene, "child-1", OnExpiry::Keep).await;
    ledger.note(name, ns.settle(&family, &Settle::Rollback, None)).await.unwrap();
    let Leased::Granted(lease) = ns.lease(&ask("lessee", OnExpiry::Keep)).await.unwrap() else {
        panic!("refused")
    };
    ledger.note("commit in the process that acquired", lease.commit()).await.unwrap();
    let held = take(scene, "lessee", OnExpiry::Rollback).await;
    let name = "commit of a lease with `on_expiry: rollback`";
    ledger.note(name, ns.settle(&held, &Settle::Commit, None)).await.unwrap();
    expired(scene, ledger).await;
}

async fn expired(scene: &Scene, ledger: &mut Ledger<'_>) {
    scene.clock.advance_ms(120_000);
    // The one that `acquire` held.
    scene.limiter.roll_back_expired(100).await.unwrap();
    ledger.note("a look for expired leases", scene.limiter.roll_back_expired(100)).await.unwrap();
    take(scene, "lessee", OnExpiry::Rollback).await;
    scene.clock.advance_ms(120_000);
    let name = "a look for expired leases that rolls one back";
    let (done, _) = ledger.note(name, scene.limiter.roll_back_expired(100)).await.unwrap();
    assert_eq!(done, 1);
}

//! Batches: each submission has its own result and is metered once.

use weir_keeper::Error;
use weir_keeper::Keeper;
use weir_keeper::ids::{AppId, OrgId};
use weir_keeper::money::MicroUsd;
use weir_keeper::submit::{Accepted, Submission};
use weir_testkit::watched::Strike;

use crate::scene::{Scene, Watched};
use crate::spending::{COST, Spender, spender, spent, stated, submission, today};

scenes! {
    a_full_batch_takes_few_transactions,
    results_are_in_order_of_the_batch,
    a_batch_can_be_retried,
    a_batch_with_a_lost_response_is_not_metered_twice,
    concurrent_equal_batches_meter_each_id_once,
    too_large_batches_are_refused,
}

/// Sends a batch; the outcome of each: `new`, `again` or the kind of its error.
async fn send(scene: &Scene, who: &Spender, batch: &[Submission]) -> Vec<String> {
    let results = scene.keeper.submit_batch(&who.org, &who.app, batch).await.unwrap();
    assert_eq!(results.len(), batch.len());
    results.iter().map(outcome).collect()
}

fn outcome(result: &weir_keeper::Result<Accepted>) -> String {
    match result {
        Ok(accepted) if accepted.duplicate => "again".to_owned(),
        Ok(_) => "new".to_owned(),
        Err(Error::Invalid { .. }) => "invalid".to_owned(),
        Err(Error::Label { .. }) => "label".to_owned(),
        Err(Error::AlreadyExists(_)) => "conflict".to_owned(),
        Err(error) => error.to_string(),
    }
}

async fn a_full_batch_takes_few_transactions(scene: &Scene) {
    for (quota_scope, counters) in [("APP", 1), ("ORG", 2)] {
        let who = spender(scene, quota_scope).await;
        let batch: Vec<Submission> = (0..100).map(|_| submission(scene)).collect();
        let shards: std::collections::BTreeSet<u8> =
            batch.iter().map(|outcomes| outcomes.shard(8)).collect();
        scene.keeper.effective_config(&who.org, Some(&who.app)).await.unwrap();
        scene.watch.reset();
        let before = scene.watch.written_together();
        assert_eq!(send(scene, &who, &batch).await, vec!["new"; 100]);
        let calls = scene.watch.calls();
        assert_eq!((calls.transactions, calls.batch_gets, calls.writes), (2, 1, 0));
        let written = scene.watch.written_together() - before;
        assert_eq!(written, 100 + counters * u64::try_from(shards.len()).unwrap());
        assert_eq!(spent(scene, &who.one(), "premium", today()).await, (100, 100 * COST));
        let of_org = (100 * (counters - 1), 100 * (counters - 1) * COST);
        assert_eq!(spent(scene, &who.all(), "premium", today()).await, of_org);
    }
}

async fn results_are_in_order_of_the_batch(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let known = submission(scene);
    scene.keeper.submit(&who.org, &who.app, &known).await.unwrap();
    let one = submission(scene);
    let conflicting_payload = Submission { stated_cost: Some(MicroUsd(1)), ..one.clone() };
    let known_reused = Submission { stated_cost: Some(MicroUsd(1)), ..known.clone() };
    let unheard_of = Submission { label: "cheap".into(), ..submission(scene) };
    let early = Submission { at_ms: 0, ..submission(scene) };
    let batch = [
        one.clone(),
        known,
        unheard_of.clone(),
        one,
        conflicting_payload,
        stated(scene, "standard", 9),
        known_reused,
        early,
        unheard_of,
    ];
    let expected =
        ["new", "again", "label", "again", "conflict", "new", "conflict", "invalid", "label"];
    assert_eq!(send(scene, &who, &batch).await, expected);
    assert_eq!(spent(scene, &who.one(), "premium", today()).await, (2, 2 * COST));
    assert_eq!(spent(scene, &who.one(), "standard", today()).await, (1, 9));
}

async fn a_batch_can_be_retried(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    let batch: Vec<Submission> = (0..30).map(|_| submission(scene)).collect();
    assert_eq!(send(scene, &who, &batch[..10]).await, vec!["new"; 10]);
    let half: Vec<String> = send(scene, &who, &batch).await;
    assert_eq!(half.iter().filter(|outcome| *outcome == "again").count(), 10);
    assert_eq!(half.iter().filter(|outcome| *outcome == "new").count(), 20);
    assert_eq!(send(scene, &who, &batch).await, vec!["again"; 30]);
    for scope in [who.all(), who.one()] {
        assert_eq!(spent(scene, &scope, "premium", today()).await, (30, 30 * COST));
    }
}

async fn a_batch_with_a_lost_response_is_not_metered_twice(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    scene.keeper.submit(&who.org, &who.app, &stated(scene, "economy", 1)).await.unwrap();
    let mut sent = 0;
    for strike in [Strike::Before, Strike::After] {
        for skip in 0.. {
            let batch: Vec<Submission> = (0..24).map(|_| submission(scene)).collect();
            scene.watch.fail_once(skip, strike);
            let first = scene.keeper.submit_batch(&who.org, &who.app, &batch).await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            let is_whole = first.is_ok_and(|results| results.iter().all(Result::is_ok));
            assert!(!(is_whole && struck));
            send_until_accepted(&scene.keeper, &who.org, &who.app, &batch).await;
            sent += 24;
            for scope in [who.all(), who.one()] {
                assert_eq!(spent(scene, &scope, "premium", today()).await, (sent, sent * COST));
            }
            if !struck {
                break;
            }
        }
    }
}

async fn concurrent_equal_batches_meter_each_id_once(scene: &Scene) {
    let who = spender(scene, "ORG").await;
    let all: Vec<Submission> = (0..40).map(|_| submission(scene)).collect();
    let tasks = (0..4).map(|task| {
        let (keeper, org, app) = (scene.keeper.clone(), who.org.clone(), who.app.clone());
        let batch: Vec<Submission> = all.iter().cycle().skip(task * 8).take(16).cloned().collect();
        tokio::spawn(async move { send_until_accepted(&keeper, &org, &app, &batch).await })
    });
    let mut new = 0;
    for task in tasks.collect::<Vec<_>>() {
        new += task.await.unwrap();
    }
    assert!(new <= 40, "{new} were new");
    for scope in [who.all(), who.one()] {
        assert_eq!(spent(scene, &scope, "premium", today()).await, (40, 40 * COST));
    }
}

/// Sends a batch until all of it is accepted, as clients do: a busy store may not respond. Returns the number of new
/// ones.
async fn send_until_accepted(
    keeper: &Keeper<Watched>,
    org: &OrgId,
    app: &AppId,
    batch: &[Submission],
) -> usize {
    const TRIES: u32 = 20;
    let mut new = 0;
    for _ in 0..TRIES {
        let Ok(results) = keeper.submit_batch(org, app, batch).await else { continue };
        let outcomes: Vec<String> = results.iter().map(outcome).collect();
        new += outcomes.iter().filter(|outcome| *outcome == "new").count();
        if outcomes.iter().all(|outcome| outcome == "new" || outcome == "again") {
            return new;
        }
        assert!(outcomes.iter().all(|outcome| outcome != "conflict"), "{outcomes:?}");
    }
    panic!("the store never answered");
}

async fn too_large_batches_are_refused(scene: &Scene) {
    let who = spender(scene, "APP").await;
    let batch: Vec<Submission> = (0..101).map(|_| submission(scene)).collect();
    let error = scene.keeper.submit_batch(&who.org, &who.app, &batch).await.unwrap_err();
    assert!(error.to_string().starts_with("requests: has 101 entries"), "{error}");
    assert_eq!(send(scene, &who, &[]).await, Vec::<String>::new());
}

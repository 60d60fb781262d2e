//! Runs, own history and the public feed.

use weir_practice::history::NewRun;
use weir_testkit::eventually_eq;
use weir_testkit::ledger::Ledger;

use super::month::Stored;
use super::{FIRST_PAGE, PAGE, table_bytes};
use crate::history::run;
use crate::problem_samples::{noise, user};
use crate::scene::Scene;

/// Bytes of code that make a run of about 2 KB, the size that the source reckons with.
const CODE_BYTES: usize = 1_150;

fn of_source_size(is_public: bool, seed: u64) -> NewRun {
    NewRun { is_public, ..run(&noise(CODE_BYTES, seed)) }
}

pub(super) async fn measure(scene: &Scene, ledger: &mut Ledger<'_>, stored: &mut Stored) {
    let practice = &scene.practice;
    let before = table_bytes(scene).await;
    let record = practice.record_run(of_source_size(true, 1));
    let id = ledger.note("a public run of 2 KB", record).await.unwrap().run.id;
    stored.run = table_bytes(scene).await - before;
    let record = practice.record_run(of_source_size(false, 2));
    ledger.note("a private run of 2 KB", record).await.unwrap();
    ledger.note("a run", practice.run(&id)).await.unwrap();
    for seed in 3..PAGE as u64 + 3 {
        practice.record_run(of_source_size(true, seed)).await.unwrap();
    }
    eventually_eq(PAGE, async || practice.feed(&FIRST_PAGE).await.unwrap().items.len()).await;
    let found = ledger.note("public feed, 20 runs", practice.feed(&FIRST_PAGE)).await.unwrap();
    assert_eq!(found.items.len(), PAGE);
    let user = user("12345");
    let own = practice.runs_of_user(&user, &FIRST_PAGE);
    assert_eq!(ledger.note("own history, 20 runs", own).await.unwrap().items.len(), PAGE);
    let hide = practice.set_run_visibility(&id, false, None);
    ledger.note("a run made private", hide).await.unwrap();
    let hints = ["Think about the carry.".to_owned()];
    ledger.note("a hint added", practice.add_hints(&id, &hints)).await.unwrap();
}

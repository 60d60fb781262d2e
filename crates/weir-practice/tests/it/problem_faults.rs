//! Creations and removals of problems that are killed at any call of the store or of the object storage.

use std::sync::Arc;

use weir_practice::ids::HistoryId;
use weir_practice::item::{Data, entity};
use weir_practice::kinds::EntityType;
use weir_practice::objects::{ObjectOwner, Objects};
use weir_practice::problems::NewProblem;
use weir_practice::spill::Fitted;
use weir_practice::test_cases::{NewTestCase, TestCaseAccess};
use weir_practice::{Error, Practice, Settings, keys};
use weir_table::Write;
use weir_testkit::watched::Strike;

use crate::failing_objects::FailingObjects;
use crate::problem_samples::{at, case, noise, problem};
use crate::scene::{Scene, Watched};

scenes!(
    a_removal_killed_anywhere_is_finished,
    a_creation_killed_anywhere_is_whole_or_gone,
    a_slow_writer_cannot_name_a_swept_object,
    a_slow_removal_spares_a_problem_that_was_created_since,
);

/// More calls than any of these makes.
const CALLS_MAX: u64 = 80;
const HOUR_MS: u64 = 60 * 60 * 1000;

/// A service whose object storage can be killed.
struct Fragile {
    practice: Practice<Watched>,
    objects: Arc<FailingObjects>,
}

impl Fragile {
    fn new(scene: &Scene) -> Fragile {
        let objects = Arc::new(FailingObjects::new(scene.objects.clone(), scene.watch.clone()));
        let (store, clock) = (scene.store.clone(), scene.clock.clone());
        let storage = Objects::new(objects.clone(), "practice");
        let practice = Practice::new(store, storage, clock, Settings::default()).unwrap();
        Fragile { practice, objects }
    }

    /// Kills the act at its call number `skip` of one kind; returns whether it was killed.
    async fn kill(
        &self,
        scene: &Scene,
        place: Place,
        skip: u64,
        act: impl AsyncFn(&Practice<Watched>) -> Result<(), Error>,
    ) -> bool {
        match place {
            Place::Store(strike) => scene.watch.fail(skip, u64::MAX, strike),
            Place::Objects => self.objects.kill_after(i64::try_from(skip).unwrap()),
        }
        let killed = act(&self.practice).await.is_err();
        scene.watch.cancel();
        self.objects.revive();
        killed
    }
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Store(Strike),
    Objects,
}

const PLACES: [Place; 3] =
    [Place::Store(Strike::Before), Place::Store(Strike::After), Place::Objects];

/// Too many test cases for one transaction, and objects of the problem and of test cases.
fn large() -> NewProblem {
    let mut new = problem("1");
    new.solution_code = Some(noise(470 * 1024, 1));
    let input = noise(470 * 1024, 2);
    new.test_cases = vec![NewTestCase { input, output: String::new(), is_sample: true }];
    new.test_cases.extend((0..60).map(|n| case(&n.to_string())));
    new
}

async fn finish(scene: &Scene) {
    scene.clock.advance_ms(2 * HOUR_MS);
    let now_ms = scene.practice.now_ms();
    let purged = scene.practice.resume_purges(now_ms, 10).await.unwrap();
    let swept = scene.practice.sweep_objects(now_ms, 100).await.unwrap();
    assert!(!purged.more && !swept.more);
}

async fn a_removal_killed_anywhere_is_finished(scene: &Scene) {
    let fragile = Fragile::new(scene);
    for place in PLACES {
        let mut skip = 0;
        loop {
            scene.practice.create_problem(large(), None, "ann").await.unwrap();
            let act =
                async |practice: &Practice<Watched>| practice.purge_problem(&at("1"), "ann").await;
            let killed = fragile.kill(scene, place, skip, act).await;
            match scene.practice.problem_with_test_cases(&at("1"), TestCaseAccess::All).await {
                // Readers see all of it or nothing.
                Ok(found) => assert_eq!(found.test_cases.len(), 61),
                Err(error) => assert!(error.is_not_found(), "{error}"),
            }
            if skip % 2 == 0 && scene.practice.problem(&at("1")).await.is_ok() {
                scene.practice.purge_problem(&at("1"), "ann").await.unwrap();
            }
            finish(scene).await;
            if scene.practice.problem(&at("1")).await.is_ok() {
                scene.practice.purge_problem(&at("1"), "ann").await.unwrap();
            }
            scene.assert_empty().await;
            if !killed {
                break;
            }
            skip += 1;
            assert!(skip < CALLS_MAX);
        }
        assert!(skip > 1, "{place:?} never struck");
    }
}

async fn a_slow_removal_spares_a_problem_that_was_created_since(scene: &Scene) {
    scene.practice.create_problem(large(), None, "ann").await.unwrap();
    let (hold, slow) = (scene.watch.hold_query(), scene.practice.clone());
    let slow = tokio::spawn(async move { slow.purge_problem(&at("1"), "ann").await });
    hold.is_held().await;
    scene.practice.purge_problem(&at("1"), "ann").await.unwrap();
    scene.practice.create_problem(large(), None, "ann").await.unwrap();
    hold.go_on();
    slow.await.unwrap().unwrap();
    let found = scene.practice.problem_with_test_cases(&at("1"), TestCaseAccess::All).await;
    assert_eq!(found.unwrap().test_cases.len(), 61);
    scene.practice.purge_problem(&at("1"), "ann").await.unwrap();
    finish(scene).await;
    scene.assert_empty().await;
}

async fn a_creation_killed_anywhere_is_whole_or_gone(scene: &Scene) {
    let fragile = Fragile::new(scene);
    for place in PLACES {
        let mut skip = 0;
        loop {
            let act = async |practice: &Practice<Watched>| {
                practice.create_problem(large(), None, "ann").await.map(|_| ())
            };
            let killed = fragile.kill(scene, place, skip, act).await;
            if skip % 2 == 0 {
                match scene.practice.create_problem(large(), None, "ann").await {
                    Ok(_) | Err(Error::Conflict(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            match scene.practice.problem_with_test_cases(&at("1"), TestCaseAccess::All).await {
                Ok(found) => {
                    assert_eq!(found.test_cases.len(), 61, "{place:?} after {skip}");
                    assert_eq!(found.problem.solution_code, large().solution_code);
                    scene.practice.purge_problem(&at("1"), "ann").await.unwrap();
                }
                Err(error) => assert!(error.is_not_found() && skip % 2 == 1, "{error}"),
            }
            finish(scene).await;
            scene.assert_empty().await;
            if !killed {
                break;
            }
            skip += 1;
            assert!(skip < CALLS_MAX);
        }
        assert!(skip > 1, "{place:?} never struck");
    }
}

async fn a_slow_writer_cannot_name_a_swept_object(scene: &Scene) {
    let practice = &scene.practice;
    let data = Data::new().with("cod", noise(470 * 1024, 1));
    let id = HistoryId::new("5").unwrap();
    let item = || entity(keys::history(&id), EntityType::History, data.clone(), 1);
    let owner = ObjectOwner::History(id.clone());
    let write = |fitted: &Fitted| {
        let put = Write::put(practice.table().clone(), fitted.item.clone());
        [put].into_iter().chain(fitted.unmark(practice.table())).collect::<Vec<_>>()
    };
    let slow = practice.fit(item(), &owner, &["cod"]).await.unwrap();
    finish(scene).await;
    assert!(!practice.transact(write(&slow)).await.unwrap().is_applied());
    scene.assert_empty().await;
    let fast = practice.fit(item(), &owner, &["cod"]).await.unwrap();
    assert!(practice.transact(write(&fast)).await.unwrap().is_applied());
    finish(scene).await;
    let text = practice.read_text(&fast.item, "cod").await.unwrap();
    assert_eq!(text, Some(noise(470 * 1024, 1)));
}

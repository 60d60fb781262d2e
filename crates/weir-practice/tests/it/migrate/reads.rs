//! Reads shift by percentage, and fall back.

use weir_practice::ids::{PlanId, UserId};
use weir_practice::migrate::reads::{ReadCounts, ShiftedReads};
use weir_practice::migrate::{Record, RecordKey};
use weir_practice::users::UserPatch;
use weir_testkit::watched::Strike;

use super::origin::{Origin, SMALL, backfill};
use crate::scene::Scene;

scenes!(@on embedded reads_shift_and_fall_back);

fn key(number: u32) -> RecordKey {
    RecordKey::User(UserId::new(number.to_string()).unwrap())
}

async fn reads_shift_and_fall_back(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    origin.run("INSERT INTO users (id, email, name) VALUES (50, 'late@example.com', 'Late')");
    let reads = ShiftedReads::new(migration.clone(), 0, 100).unwrap();
    let name = async |number: u32| match reads.read(&key(number)).await.unwrap() {
        Some(Record::User(user)) => user.name,
        other => panic!("{other:?}"),
    };
    for number in 1..=12 {
        name(number).await;
    }
    assert_eq!(reads.counts(), ReadCounts { postgres: 12, ..ReadCounts::default() });
    reads.set_percent(100).unwrap();
    assert!(reads.set_percent(101).is_err());
    for number in 1..=12 {
        name(number).await;
    }
    let counts = reads.counts();
    assert_eq!((counts.hits, counts.compared, counts.differences), (12, 12, 0));
    // Not in our table yet.
    assert_eq!(name(50).await, "Late");
    assert_eq!(reads.counts().fallbacks, 1);
    assert_eq!(reads.read(&key(51)).await.unwrap(), None);
    let patch = UserPatch { name: Some("Ours".into()), ..UserPatch::default() };
    scene.practice.update_user(&UserId::new("3").unwrap(), &patch, "admin").await.unwrap();
    assert_eq!(name(3).await, "Ours");
    assert_eq!(reads.counts().differences, 1);
    scene.watch.down(Some(Strike::Before));
    assert_eq!(name(3).await, "User 3");
    scene.watch.down(None);
    assert_eq!(reads.counts().fallbacks, 3);
    let plan = reads.read(&RecordKey::Plan(PlanId::PRO)).await.unwrap();
    assert!(matches!(plan, Some(Record::Plan(plan)) if plan.fields.name == "Pro"));
}

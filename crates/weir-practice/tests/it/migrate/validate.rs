//! Differences are found in both directions, and named.

use weir_practice::ids::{HistoryId, UserId};
use weir_practice::keys;
use weir_practice::migrate::{Difference, DifferenceKind, Scope};
use weir_practice::users::UserPatch;
use weir_table::Write;

use super::origin::{Origin, SMALL, assert_same, backfill, compare};
use crate::scene::Scene;

scenes!(@on embedded differences_are_named_in_both_directions a_sample_depends_on_its_seed today_is_counted);

fn shown(difference: &Difference) -> (&str, &str, &str, &str) {
    (difference.kind.as_str(), difference.entity.table(), &difference.id, &difference.field)
}

async fn differences_are_named_in_both_directions(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    assert_same(&migration).await;
    // Behind its back.
    origin.run(
        "UPDATE users SET name = 'Someone else' WHERE id = 4;
         UPDATE problems SET solution_code = encode('x = 1', 'base64') WHERE id = 2;
         UPDATE test_cases SET output = '42' WHERE id = 9;
         INSERT INTO users (id, email) VALUES (77, 'late@example.com');
         DELETE FROM search_history WHERE id = 20;",
    );
    let patch = UserPatch {
        picture_url: Some(Some("https://example.com/me".into())),
        ..UserPatch::default()
    };
    scene.practice.update_user(&UserId::new("5").unwrap(), &patch, "admin").await.unwrap();
    scene.practice.delete_run(&HistoryId::new("21").unwrap()).await.unwrap();
    let report = compare(&migration).await;
    let found: Vec<_> = report.differences.iter().map(shown).collect();
    assert_eq!(
        found,
        [
            ("field", "users", "4", "name"),
            ("field", "users", "5", "picture_url"),
            ("field", "users", "5", "updated_at"),
            ("missing", "users", "77", ""),
            ("field", "problems", "2", "solution_code"),
            ("field", "test_cases", "9", "output"),
            ("missing", "search_history", "21", ""),
            ("extra", "search_history", "20", ""),
        ]
    );
    let name = &report.differences[0];
    assert_eq!((name.postgres.as_str(), name.weir.as_str()), ("Someone else", "User 4"));
    let solution = report.differences.iter().find(|one| one.field == "solution_code").unwrap();
    assert_eq!(solution.postgres, "x = 1");
    assert!(solution.weir.ends_with("characters)"), "{}", solution.weir);
}

async fn a_sample_depends_on_its_seed(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    origin.run("UPDATE search_history SET code = 'changed'");
    let sample = async |seed| {
        let scope = Scope::Sample { rows: 5, seed };
        let report = migration.validate(scope, &mut |_| {}).await.unwrap();
        let ids: Vec<String> = report.differences.iter().map(|one| one.id.clone()).collect();
        assert!(report.differences.iter().all(|one| one.kind == DifferenceKind::Field));
        ids
    };
    let (one, again, other) = (sample(7).await, sample(7).await, sample(8).await);
    assert_eq!(one.len(), 5);
    assert_eq!(one, again);
    assert_ne!(one, other);
}

async fn today_is_counted(scene: &Scene) {
    let origin = Origin::new(SMALL);
    let migration = origin.migration(scene).await;
    backfill(&migration).await;
    let (user, today) = (UserId::new("6").unwrap(), weir_calendar::Day::utc(crate::scene::NOW_MS));
    let action = weir_practice::kinds::Action::Execution;
    let key = keys::action_count(&user, today, action);
    let update = weir_table::expr::add("n", 1);
    scene.store.write(Write::update(scene.practice.table().clone(), key, update)).await.unwrap();
    let report = compare(&migration).await;
    let [counter] = &report.differences[..] else { panic!("{:?}", report.differences) };
    assert_eq!(counter.field, "count of execution of user 6 on 2037-01-23");
}

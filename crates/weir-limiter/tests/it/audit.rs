//! The audit trail.

use weir_limiter::Error;
use weir_limiter::audit::{AuditAction, AuditEvent};
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::entities::NewEntity;
use weir_limiter::ids::Resource;
use weir_table::audit::EventRange;
use weir_table::retry::Listed;
use weir_table::{Get, Item, Query, Value, Write};

use crate::scene::{NOON_MS, Scene, entity, eventually_eq, per_minute};

scenes!(
    events_are_listed_newest_first,
    an_event_item_matches_zae_limiter,
    events_of_zae_limiter_are_read_or_ignored,
    events_that_are_archived_stay_longer,
    the_whole_namespace_is_listed_newest_first,
);

async fn named(scene: &Scene, name: &str) {
    let new = NewEntity { name: name.to_owned(), ..NewEntity::default() };
    scene.ns.put_entity(&entity("user-1"), new, "ann").await.unwrap();
}

async fn page(scene: &Scene, range: &EventRange) -> Listed<AuditEvent> {
    scene.ns.audit("user-1", range).await.unwrap()
}

async fn all(scene: &Scene) -> Vec<AuditEvent> {
    page(scene, &EventRange::default()).await.items
}

fn names(events: &[AuditEvent]) -> Vec<&str> {
    events.iter().map(|event| event.after.as_ref().unwrap()["name"].as_str().unwrap()).collect()
}

async fn events_are_listed_newest_first(scene: &Scene) {
    for name in ["a", "b", "c", "d", "e"] {
        named(scene, name).await;
        scene.clock.advance_ms(if name < "c" { 0 } else { 1000 });
    }
    let events = all(scene).await;
    assert_eq!(names(&events), ["e", "d", "c", "b", "a"]);
    let noon = i64::try_from(NOON_MS).unwrap();
    let times: Vec<_> = events.iter().map(|event| event.at_ms - noon).collect();
    assert_eq!(times, [2000, 1000, 0, 0, 0]);
    for (from, to, expected) in [
        (Some(1000), None, &["e", "d"][..]),
        (None, Some(1000), &["c", "b", "a"]),
        (Some(1000), Some(1001), &["d"]),
        (Some(1), Some(1000), &[]),
        (Some(1000), Some(1000), &[]),
    ] {
        let [from_ms, to_ms] = [from, to].map(|ms: Option<i64>| ms.map(|ms| noon + ms));
        let range = EventRange { from_ms, to_ms, ..EventRange::default() };
        assert_eq!(names(&page(scene, &range).await.items), expected, "{from:?} {to:?}");
    }
    let mut range = EventRange { limit: 3, ..EventRange::default() };
    let first = page(scene, &range).await;
    assert!(first.cursor.is_some());
    range.cursor = first.cursor;
    let second = page(scene, &range).await;
    let found = (names(&first.items), names(&second.items));
    assert_eq!(found, (vec!["e", "d", "c"], vec!["b", "a"]));
    range.cursor = Some("forged".to_owned());
    let error = scene.ns.audit("user-1", &range).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { ref field, .. } if field == "cursor"), "{error:?}");
    let other = scene.ns.audit("user-2", &EventRange::default()).await.unwrap();
    assert_eq!(other, Listed { items: vec![], cursor: None });
}

/// The events of `user-1` as they are stored.
async fn stored(scene: &Scene) -> Vec<Item> {
    let pk = format!("{}/AUDIT#user-1", scene.ns.id());
    let query = Query::partition(scene.limiter.settings().table.as_str(), pk);
    scene.store.query(&query).await.unwrap().items
}

async fn an_event_item_matches_zae_limiter(scene: &Scene) {
    named(scene, "Ann").await;
    let events = all(scene).await;
    let item = stored(scene).await.remove(0);
    let pk = format!("{}/AUDIT#user-1", scene.ns.id());
    for (attribute, text) in [
        ("PK", pk.as_str()),
        ("SK", &format!("#AUDIT#{}", events[0].id)),
        ("entity_id", "user-1"),
        ("event_id", &events[0].id),
        ("timestamp", "2037-01-15T12:00:00Z"),
        ("action", "entity_created"),
        ("principal", "ann"),
        ("GSI4PK", scene.ns.id().as_str()),
        ("GSI4SK", pk.as_str()),
    ] {
        assert_eq!(item.s(attribute), Some(text), "{attribute}");
    }
    assert_eq!(item.get("resource"), Some(&Value::Null));
    assert_eq!(item.i64("ttl"), Some(scene.now_ms() / 1000 + 90 * 86_400));
    assert!(matches!(item.get("details"), Some(Value::M(_))));
}

async fn events_of_zae_limiter_are_read_or_ignored(scene: &Scene) {
    named(scene, "Ann").await;
    let item = stored(scene).await.remove(0);
    let theirs = |n: u32, action: &str| {
        let id = format!("01KEY0000000000000000000{n:02}");
        item.clone()
            .with("SK", format!("#AUDIT#{id}"))
            .with("event_id", id)
            .with("action", action)
            .with("principal", Value::Null)
            .with("details", Value::map([("name", "Bob")]))
    };
    let table = scene.limiter.settings().table.as_str();
    for item in [theirs(1, "entity_created"), theirs(2, "entity_teleported")] {
        scene.store.write(Write::put(table, item)).await.unwrap();
    }
    let events = all(scene).await;
    let recorded: Vec<_> = events.iter().map(|e| (e.action, e.actor.as_str())).collect();
    assert_eq!(recorded.len(), 2);
    assert!(recorded.contains(&(AuditAction::EntityCreated, "")));
    assert_eq!(events.iter().filter(|e| e.after.as_ref().unwrap()["name"] == "Bob").count(), 1);
}

async fn events_that_are_archived_stay_longer(scene: &Scene) {
    let archiving = scene
        .another_with(|settings| {
            settings.archive = true;
            settings.audit_retention_days = 10;
        })
        .await;
    let ns = archiving.namespace(scene.ns.name()).await.unwrap();
    ns.put_entity(&entity("user-1"), NewEntity::default(), "ann").await.unwrap();
    let ttl = stored(scene).await[0].i64("ttl");
    assert_eq!(ttl, Some(scene.now_ms() / 1000 + 40 * 86_400));
    let key = Get::new(
        scene.limiter.settings().table.as_str(),
        weir_limiter::keys::audit(scene.ns.id().as_str(), "user-1", "none"),
    );
    assert_eq!(scene.store.get(&key).await.unwrap(), None);
}

async fn the_whole_namespace_is_listed_newest_first(scene: &Scene) {
    let level = LevelConfig { limits: vec![per_minute("rpm", 5)], ..LevelConfig::default() };
    for name in ["a", "b"] {
        scene.clock.advance_ms(1_000);
        named(scene, name).await;
    }
    scene.clock.advance_ms(1_000);
    scene.ns.set_limits(&Level::System, level.clone(), "ann").await.unwrap();
    scene.clock.advance_ms(1_000);
    let on = Level::Resource(Resource::new("gpt-4").unwrap());
    scene.ns.set_limits(&on, level, "ann").await.unwrap();
    let subjects = async |range: EventRange| {
        let found = scene.ns.audit_of_all(&range).await.unwrap();
        let subjects: Vec<_> = found.items.into_iter().map(|event| event.subject).collect();
        (subjects, found.cursor)
    };
    let all = ["$RESOURCE:gpt-4", "$SYSTEM", "user-1", "user-1", "default"];
    eventually_eq(all.map(str::to_owned).to_vec(), async || {
        subjects(EventRange::default()).await.0
    })
    .await;
    let (first, cursor) = subjects(EventRange { limit: 3, ..EventRange::default() }).await;
    let (rest, _) = subjects(EventRange { limit: 3, cursor, ..EventRange::default() }).await;
    assert_eq!([first, rest].concat(), all);
}

//! The service itself: its clock, its object storage, its table.

use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use weir_practice::list::PageRequest;
use weir_practice::{Practice, Settings, keys};

use crate::scene::{NOW_MS, Scene};

scenes!(days_follow_the_clock, objects_are_below_a_prefix, an_empty_list_takes_one_read);

async fn days_follow_the_clock(scene: &Scene) {
    let practice = &scene.practice;
    assert_eq!((practice.now_ms(), practice.day_of(NOW_MS).compact()), (NOW_MS, "20370123".into()));
    scene.clock.advance_ms(10 * 60 * 60 * 1000);
    assert_eq!(practice.day_of(practice.now_ms()).compact(), "20370124");
    // Another process opens the table that is already there.
    let store = scene.store.clone();
    let objects = practice.objects().clone();
    Practice::open(store, objects, scene.clock.clone(), Settings::default()).await.unwrap();
}

async fn objects_are_below_a_prefix(scene: &Scene) {
    let objects = scene.practice.objects();
    objects.put("history/5/cod-1", b"print(1)".to_vec()).await.unwrap();
    let stored = scene.objects.get(&Path::from("practice/history/5/cod-1")).await.unwrap();
    assert_eq!(stored.bytes().await.unwrap().as_ref(), b"print(1)");
    assert_eq!(objects.get("history/5/cod-1").await.unwrap().as_deref(), Some(&b"print(1)"[..]));
    for _ in 0..2 {
        objects.delete("history/5/cod-1").await.unwrap();
    }
    assert_eq!(objects.get("history/5/cod-1").await.unwrap(), None);
}

async fn an_empty_list_takes_one_read(scene: &Scene) {
    let page = PageRequest::default();
    let users = scene.practice.members(&keys::List::Users, &page).await.unwrap();
    assert_eq!((users.items.len(), users.cursor), (0, None));
    assert_eq!(scene.watch.take_reads(), 1);
    let wrong = PageRequest { cursor: Some("x".to_owned()), ..page };
    let error = scene.practice.members(&keys::List::Users, &wrong).await.unwrap_err();
    assert!(error.to_string().starts_with("cursor:"), "{error}");
}

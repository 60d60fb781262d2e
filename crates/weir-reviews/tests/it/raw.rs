//! Raw outputs end with their reviews.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use weir_reviews::raw::RawOutputs;
use weir_reviews::{Error, Reviews, Settings};

use crate::samples::{id, model, review, with_raws};
use crate::scene::{NOW_MS, Scene};

scenes!(
    raw_outputs_expire_with_their_review,
    a_sweep_is_bounded_and_continues,
    a_new_retention_keeps_raw_outputs,
    a_review_without_raw_outputs_has_none,
    raw_outputs_are_files_or_objects,
);

const DAY_MS: u64 = 86_400_000;

fn now_ms(scene: &Scene) -> i64 {
    scene.reviews.now_ms()
}

async fn raw_outputs_expire_with_their_review(scene: &Scene) {
    let mut old = with_raws(review("old", &["gpt-5", "llama"], 1));
    old.head.created_at_ms = Some(NOW_MS - 40 * 86_400_000);
    scene.reviews.record(old, false).await.unwrap();
    scene.reviews.record(with_raws(review("new", &["gpt-5"], 1)), false).await.unwrap();
    let sweep = async || scene.reviews.sweep_raw(now_ms(scene), 100).await.unwrap();
    while sweep().await.more {}
    assert_eq!(scene.raws().await.len(), 3, "none has expired");
    scene.clock.advance_ms(50 * DAY_MS - 1_000);
    assert_eq!(sweep().await.deleted, 0);
    scene.clock.advance_ms(1_000);
    assert_eq!(sweep().await.deleted, 2);
    assert_eq!((scene.raws().await.len(), scene.expiries().await), (1, 1));
    scene.clock.advance_ms(41 * DAY_MS);
    let swept = sweep().await;
    assert_eq!((swept.deleted, swept.more), (1, false));
    assert_eq!((scene.raws().await.len(), scene.expiries().await), (0, 0));
}

async fn a_sweep_is_bounded_and_continues(scene: &Scene) {
    let names: Vec<String> = (0..12).map(|number| format!("m{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    scene.reviews.record(with_raws(review("r-1", &names, 1)), false).await.unwrap();
    scene.clock.advance_ms(90 * DAY_MS);
    let (mut deleted, mut runs) = (0, 0);
    loop {
        let swept = scene.reviews.sweep_raw(now_ms(scene), 5).await.unwrap();
        assert!(swept.deleted <= 5);
        deleted += swept.deleted;
        runs += 1;
        assert!(runs < 30);
        if !swept.more {
            break;
        }
    }
    assert_eq!((deleted, scene.raws().await.len(), scene.expiries().await), (12, 0, 0));
}

/// The retention is changed between two attempts, and between two steps.
async fn a_new_retention_keeps_raw_outputs(scene: &Scene) {
    let new = with_raws(review("r-1", &["gpt-5", "llama"], 2));
    scene.watch.fail_once(2, weir_testkit::watched::Strike::Before);
    scene.reviews.record(new.clone(), false).await.unwrap_err();
    scene.watch.cancel();
    let longer = scene.another_with(|settings| settings.review_days = 180);
    longer.record(new.clone(), false).await.unwrap();
    assert_eq!(Some(longer.raw(&id("r-1"), &model("llama")).await.unwrap()), new.responses[1].raw);
    longer.delete(&id("r-1")).await.unwrap();
    scene.sweep_everything().await;
    longer.open_review(new.head).await.unwrap();
    longer.add_response(&id("r-1"), &new.responses[0]).await.unwrap();
    let completion = weir_reviews::record::Completion::Completed(None);
    scene.reviews.complete(&id("r-1"), &completion).await.unwrap();
    assert_eq!(Some(longer.raw(&id("r-1"), &model("gpt-5")).await.unwrap()), new.responses[0].raw);
    longer.delete(&id("r-1")).await.unwrap();
    assert!(scene.items().await.is_empty() && scene.raws().await.is_empty());
}

async fn a_review_without_raw_outputs_has_none(scene: &Scene) {
    scene.reviews.record(review("r-1", &["gpt-5"], 1), false).await.unwrap();
    let what = |result: Result<Vec<u8>, Error>| match result {
        Err(Error::NotFound { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(what(scene.reviews.raw(&id("r-1"), &model("gpt-5")).await), "raw output");
    assert_eq!(what(scene.reviews.raw(&id("r-1"), &model("other")).await), "response");
    assert_eq!(what(scene.reviews.raw(&id("r-2"), &model("gpt-5")).await), "review");
}

/// A bucket in moto.
fn in_s3(bucket: &str) -> Arc<dyn ObjectStore> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let objects = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_endpoint(weir_testkit::moto_endpoint().unwrap())
        .with_allow_http(true)
        .with_access_key_id("local")
        .with_secret_access_key("local")
        .build();
    Arc::new(objects.unwrap())
}

async fn raw_outputs_are_files_or_objects(scene: &Scene) {
    let folder = tempfile::tempdir().unwrap();
    let bucket = format!("raw-{}", fastrand::u64(..));
    weir_testkit::make_bucket(weir_testkit::moto_endpoint().unwrap(), &bucket).unwrap();
    let files: Arc<dyn ObjectStore> =
        Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
    let long = "/".repeat(256);
    let models = ["gpt-5", "meta/llama:70b", "../..", "a%2Fb", long.as_str()];
    for objects in [files, in_s3(&bucket)] {
        let raw_outputs = RawOutputs::new(objects, "");
        let (store, clock) = (scene.store.clone(), scene.clock.clone());
        let reviews = Reviews::new(store, raw_outputs, clock, Settings::default()).unwrap();
        let new = with_raws(review("r-1", &models, 1));
        reviews.record(new.clone(), false).await.unwrap();
        for response in new.responses {
            let found = reviews.raw(&id("r-1"), &response.model).await.unwrap();
            assert_eq!(Some(found), response.raw);
        }
        reviews.delete(&id("r-1")).await.unwrap();
        assert!(scene.items().await.is_empty());
    }
    assert!(!folder.path().parent().unwrap().join("7").exists());
}

//! Final days are exported exactly once.

use std::sync::Arc;

use object_store::aws::AmazonS3Builder;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use weir_keeper::export::ExportTarget;
use weir_testkit::watched::Strike;

use crate::scene::Scene;
use crate::spending::{Spender, spender, stated};

scenes! {
    a_day_is_exported_when_it_is_final,
    an_export_survives_a_lost_response,
    a_day_is_exported_to_s3,
}

async fn read(objects: &InMemory, name: &str) -> Option<String> {
    let found = objects.get(&Path::from(name)).await.ok()?;
    Some(String::from_utf8(found.bytes().await.unwrap().to_vec()).unwrap())
}

fn name(who: &Spender, day: &str) -> String {
    format!("counters/{day}/{}.jsonl", who.org)
}

async fn a_day_is_exported_when_it_is_final(scene: &Scene) {
    let (objects, who) = (Arc::new(InMemory::new()), spender(scene, "ORG").await);
    let exports = ExportTarget::new(objects.clone(), "counters");
    let keeper = scene.another_with(|settings| settings.retention_days = 8).await;
    let export = async || keeper.export_counters(&exports, 100, None).await.unwrap();
    scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", 3)).await.unwrap();
    scene.keeper.submit(&who.org, &who.other, &stated(scene, "premium", 4)).await.unwrap();
    scene.clock.advance_ms(2 * 86_400_000);
    assert_eq!(export().await.objects, 0, "late ones may still come");
    scene.clock.advance_ms(86_400_000);
    let exported = export().await;
    assert_eq!((exported.objects, exported.lines, exported.behind_days), (1, 3, 0));
    let text = read(&objects, &name(&who, "2037/01/23")).await.unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let costs: Vec<(Option<&str>, u64)> = lines
        .iter()
        .map(|line| (line["app_id"].as_str(), line["cost_usd_micros"].as_u64().unwrap()))
        .collect();
    assert_eq!(costs, [(None, 7), (Some("chat"), 3), (Some("search"), 4)]);
    assert_eq!(export().await.objects, 0, "it is done");
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

async fn a_day_is_exported_to_s3(scene: &Scene) {
    let bucket = format!("export-{}", uuid::Uuid::new_v4());
    weir_testkit::make_bucket(weir_testkit::moto_endpoint().unwrap(), &bucket).unwrap();
    let (objects, who) = (in_s3(&bucket), spender(scene, "ORG").await);
    let keeper = scene.another_with(|settings| settings.retention_days = 8).await;
    scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", 3)).await.unwrap();
    scene.clock.advance_ms(3 * 86_400_000);
    // A missing bucket leaves the day to be exported.
    let nowhere = ExportTarget::new(in_s3("there-is-none"), "counters");
    assert!(keeper.export_counters(&nowhere, 100, None).await.is_err());
    let exports = ExportTarget::new(Arc::clone(&objects), "counters");
    let exported = keeper.export_counters(&exports, 100, None).await.unwrap();
    assert_eq!((exported.objects, exported.lines), (1, 2));
    let found = objects.get(&Path::from(name(&who, "2037/01/23"))).await.unwrap();
    let text = String::from_utf8(found.bytes().await.unwrap().to_vec()).unwrap();
    let costs = text.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["cost_usd_micros"].as_u64().unwrap()
    });
    assert_eq!(costs.collect::<Vec<_>>(), [3, 3]);
}

async fn an_export_survives_a_lost_response(scene: &Scene) {
    let objects = Arc::new(InMemory::new());
    let exports = ExportTarget::new(objects.clone(), "counters");
    let keeper = scene.another_with(|settings| settings.retention_days = 8).await;
    let mut who = spender(scene, "APP").await;
    scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", 3)).await.unwrap();
    scene.clock.advance_ms(5 * 86_400_000);
    for (turn, strike) in [Strike::Before, Strike::After].into_iter().enumerate() {
        // Somewhere in the middle, and at the checkpoint.
        for skip in [0, 2, 20, 70, 89, 90, 91] {
            scene.watch.fail_once(skip, strike);
            let _ = keeper.export_counters(&exports, 100, None).await;
            scene.watch.cancel();
        }
        keeper.export_counters(&exports, 100, None).await.unwrap();
        let day = ["2037/01/23", "2037/01/28"][turn];
        let text = read(&objects, &name(&who, day)).await.unwrap();
        assert_eq!(text.lines().count(), 1);
        who = spender(scene, "APP").await;
        scene.keeper.submit(&who.org, &who.app, &stated(scene, "premium", 3)).await.unwrap();
        scene.clock.advance_ms(5 * 86_400_000);
    }
}

//! A process that remembers a config which another process has changed.

use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig};
use weir_limiter::entities::NewEntity;
use weir_limiter::{Error, Namespace};

use crate::acquire::{granted, refused, request};
use crate::scene::{Scene, entity, eventually, per_minute, resource};
use crate::watched::Watched;

scenes!(
    a_limit_that_another_process_removed_grants_and_refuses_nobody,
    a_parent_s_limit_that_another_process_removed_refuses_nobody,
    a_bucket_that_is_made_after_a_change_has_the_new_limits,
);

async fn other_process(scene: &Scene) -> Namespace<Watched> {
    scene.another().await.namespace(scene.ns.name()).await.unwrap()
}

async fn set_level(ns: &Namespace<Watched>, level: &Level, limits: &[Limit]) {
    let config = LevelConfig { limits: limits.to_vec(), ..LevelConfig::default() };
    ns.set_limits(level, config, "test").await.unwrap();
}

/// Waits until the index shows the bucket, through which a change of config finds it.
async fn indexed(scene: &Scene, who: &str) {
    let found = async || scene.ns.buckets(&entity(who)).await.unwrap();
    eventually(async || (!found().await.is_empty()).then_some(())).await;
}

async fn a_limit_that_another_process_removed_grants_and_refuses_nobody(scene: &Scene) {
    let other = other_process(scene).await;
    for (who, taken) in [("half", 30), ("drained", 60)] {
        let level = Level::Entity(entity(who), None);
        set_level(&scene.ns, &level, &[per_minute("rpm", 60)]).await;
        granted(scene.ns.acquire(&request(who, &[("rpm", taken)], &[])).await.unwrap());
        indexed(scene, who).await;
        other.delete_limits(&level, "test").await.unwrap();
        for _ in 0..3 {
            let answer = scene.ns.acquire(&request(who, &[("rpm", 1)], &[])).await;
            assert!(matches!(answer, Err(Error::NoLimits { .. })), "{who}: {answer:?}");
        }
    }
}

async fn a_parent_s_limit_that_another_process_removed_refuses_nobody(scene: &Scene) {
    let other = other_process(scene).await;
    let team = NewEntity::default();
    scene.ns.put_entity(&entity("team"), team.clone(), "test").await.unwrap();
    let member = NewEntity { parent: Some(entity("team")), cascade: true, ..team };
    scene.ns.put_entity(&entity("member"), member, "test").await.unwrap();
    let of_team = Level::Entity(entity("team"), None);
    set_level(&scene.ns, &of_team, &[per_minute("rpm", 2)]).await;
    set_level(&scene.ns, &Level::Entity(entity("member"), None), &[per_minute("rpm", 5)]).await;
    let ask = |amount| request("member", &[("rpm", amount)], &[]);
    granted(scene.ns.acquire(&ask(2)).await.unwrap());
    refused(scene.ns.acquire(&ask(1)).await.unwrap());
    indexed(scene, "team").await;
    other.delete_limits(&of_team, "test").await.unwrap();
    // A refusal is remembered for at most this long.
    scene.clock.advance_ms(1_000);
    for _ in 0..3 {
        let answer = granted(scene.ns.acquire(&ask(1)).await.unwrap());
        let payers: Vec<&str> = answer.limits.iter().map(|of| of.entity.as_str()).collect();
        assert_eq!(payers, ["member"]);
    }
    let no = refused(scene.ns.acquire(&ask(1)).await.unwrap());
    let names: Vec<&str> = no.limits.iter().map(|of| of.entity.as_str()).collect();
    assert_eq!(names, ["member"], "a limit that is gone is not listed either");
}

async fn a_bucket_that_is_made_after_a_change_has_the_new_limits(scene: &Scene) {
    let other = other_process(scene).await;
    set_level(&scene.ns, &Level::System, &[per_minute("rpm", 100)]).await;
    let ask = |who| request(who, &[("rpm", 1)], &[]);
    granted(scene.ns.acquire(&ask("first")).await.unwrap());
    // Now this process remembers all levels of "seen", which has no bucket yet.
    scene.ns.availability(&entity("seen"), &resource("gpt-4"), &[].into()).await.unwrap();
    set_level(&other, &Level::System, &[per_minute("rpm", 10)]).await;
    for who in ["seen", "new"] {
        let answer = granted(scene.ns.acquire(&ask(who)).await.unwrap());
        assert_eq!(answer.limits[0].limit.capacity, 10, "{who}");
    }
}

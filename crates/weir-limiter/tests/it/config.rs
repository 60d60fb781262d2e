//! Config: which limits apply, and how levels are written.

use weir_limiter::bucket::Limit;
use weir_limiter::config::{Level, LevelConfig, OnUnavailable, Source};
use weir_limiter::{Error, keys};
use weir_table::{Get, Item};

use crate::scene::{Scene, entity, eventually, eventually_eq, per_minute, resource};

scenes!(
    the_first_level_with_limits_applies,
    on_unavailable_is_inherited_separately,
    a_set_level_is_read_back_with_its_version,
    an_invalid_level_changes_nothing,
    a_shared_table_takes_what_both_programs_take,
    resources_are_registered_under_concurrent_sets_and_deletes,
    entities_are_counted_under_concurrent_sets_and_deletes,
    entities_with_limits_are_listed_by_page,
    concurrent_sets_of_one_level_all_raise_its_version,
    levels_written_by_zae_limiter_are_read,
);

fn limits(capacity: u64) -> LevelConfig {
    LevelConfig { limits: vec![per_minute("rpm", capacity)], ..LevelConfig::default() }
}

fn word(choice: OnUnavailable) -> LevelConfig {
    LevelConfig { on_unavailable: Some(choice), ..LevelConfig::default() }
}

fn levels() -> [Level; 4] {
    [
        Level::Entity(entity("user"), Some(resource("gpt-4"))),
        Level::Entity(entity("user"), None),
        Level::Resource(resource("gpt-4")),
        Level::System,
    ]
}

const SOURCES: [Source; 4] =
    [Source::Entity, Source::EntityDefault, Source::Resource, Source::System];

async fn set(scene: &Scene, level: &Level, config: LevelConfig) -> LevelConfig {
    scene.ns.set_limits(level, config, "tests").await.unwrap()
}

async fn item(scene: &Scene, key: weir_table::Key) -> Option<Item> {
    scene.store.get(&Get::new(scene.limiter.settings().table.as_str(), key)).await.unwrap()
}

async fn the_first_level_with_limits_applies(scene: &Scene) {
    let (user, gpt) = (entity("user"), resource("gpt-4"));
    for mask in 0..16_u32 {
        for (place, level) in levels().iter().enumerate() {
            if mask & (1 << place) == 0 {
                scene.ns.delete_limits(level, "tests").await.unwrap();
            } else {
                set(scene, level, limits(place as u64 + 1)).await;
            }
        }
        let own = [per_minute("rpm", 9)];
        let first = (0..4).find(|place| mask & (1 << place) != 0);
        let another = scene.another().await;
        let fresh = another.namespace(scene.ns.name()).await.unwrap();
        for ns in [&scene.ns, &fresh] {
            let resolved = ns.resolve(&user, &gpt, Some(&own)).await.unwrap();
            let expected =
                first.map_or((Source::Caller, 9), |place| (SOURCES[place], place as u64 + 1));
            assert_eq!((resolved.limits_from, resolved.limits[0].capacity), expected, "{mask:b}");
            assert_eq!(ns.resolve_cached(&user, &gpt, Some(&own)), Some(resolved));
        }
        let without = scene.ns.resolve(&user, &gpt, None).await;
        assert_eq!(without.is_ok(), first.is_some());
        assert!(first.is_some() || matches!(without, Err(Error::NoLimits { .. })));
    }
}

async fn on_unavailable_is_inherited_separately(scene: &Scene) {
    let (user, gpt) = (entity("user"), resource("gpt-4"));
    let [on_resource, on_all, of_resource, system] = levels();
    set(scene, &on_resource, limits(1)).await;
    let resolved = scene.ns.resolve(&user, &gpt, None).await.unwrap();
    assert_eq!(resolved.on_unavailable, OnUnavailable::Block);
    assert_eq!(resolved.on_unavailable_from, Source::BuiltIn);
    for (level, choice, from) in [
        (system, OnUnavailable::Allow, Source::System),
        (of_resource, OnUnavailable::Block, Source::Resource),
        (on_all, OnUnavailable::Allow, Source::EntityDefault),
    ] {
        set(scene, &level, word(choice)).await;
        let resolved = scene.ns.resolve(&user, &gpt, None).await.unwrap();
        assert_eq!((resolved.on_unavailable, resolved.on_unavailable_from), (choice, from));
        assert_eq!(resolved.limits_from, Source::Entity);
    }
    let config = LevelConfig { on_unavailable: Some(OnUnavailable::Block), ..limits(1) };
    set(scene, &on_resource, config).await;
    let resolved = scene.ns.resolve(&user, &gpt, None).await.unwrap();
    assert_eq!(resolved.on_unavailable_from, Source::Entity);
}

async fn a_set_level_is_read_back_with_its_version(scene: &Scene) {
    for level in levels() {
        assert_eq!(scene.ns.limits(&level).await.unwrap(), None);
        assert!(!scene.ns.delete_limits(&level, "tests").await.unwrap());
        for version in 1..=3 {
            let set = set(scene, &level, limits(version)).await;
            assert_eq!(set, LevelConfig { version, ..limits(version) });
            assert_eq!(scene.ns.limits(&level).await.unwrap(), Some(set));
        }
        assert!(scene.ns.delete_limits(&level, "tests").await.unwrap());
        assert_eq!(scene.ns.limits(&level).await.unwrap(), None);
    }
    let config = LevelConfig {
        limits: Vec::new(),
        on_unavailable: Some(OnUnavailable::Allow),
        auto_update: Some(false),
        strict_version: Some(true),
        version: 0,
    };
    let now = set(scene, &Level::System, config.clone()).await;
    assert_eq!(now, LevelConfig { version: 1, ..config });
}

async fn an_invalid_level_changes_nothing(scene: &Scene) {
    let [on_resource, .., system] = levels();
    let bad = Limit { capacity: 0, ..per_minute("rpm", 1) };
    let twice = vec![per_minute("rpm", 1), per_minute("rpm", 2)];
    for (level, config, field) in [
        (&system, LevelConfig::default(), "limits"),
        (&system, LevelConfig { limits: vec![bad], ..LevelConfig::default() }, "capacity"),
        (&system, LevelConfig { limits: twice, ..LevelConfig::default() }, "limits"),
        (&on_resource, LevelConfig { auto_update: Some(true), ..limits(1) }, "auto_update"),
        (&on_resource, LevelConfig { strict_version: Some(true), ..limits(1) }, "strict_version"),
    ] {
        let error = scene.ns.set_limits(level, config, "tests").await.unwrap_err();
        assert!(matches!(&error, Error::Invalid { field: found, .. } if found == field), "{error}");
        assert_eq!(scene.ns.limits(level).await.unwrap(), None);
    }
}

async fn a_shared_table_takes_what_both_programs_take(scene: &Scene) {
    let mut settings = scene.limiter.settings().clone();
    settings.compat = weir_limiter::Compat::Zae;
    let shared = weir_limiter::Limiter::new(scene.store.clone(), scene.clock.clone(), settings);
    let ns = shared.namespace(scene.ns.name()).await.unwrap();
    let named = |name| LevelConfig { limits: vec![per_minute(name, 1)], ..LevelConfig::default() };
    for (level, config) in [
        (Level::Resource(resource("open:ai")), limits(1)),
        (Level::System, named("in-rpm")),
        (Level::System, named("in.rpm")),
    ] {
        ns.set_limits(&level, config, "tests").await.unwrap_err();
    }
    ns.set_limits(&Level::Resource(resource("open/ai")), named("in_rpm"), "tests").await.unwrap();
}

async fn resources_are_registered_under_concurrent_sets_and_deletes(scene: &Scene) {
    const RESOURCES: u64 = 8;
    let run = async |done: u64| {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..RESOURCES {
            let ns = scene.ns.clone();
            let level = Level::Resource(resource(&format!("r{number}")));
            tasks.spawn(async move {
                if number < done {
                    assert!(ns.delete_limits(&level, "tests").await.unwrap());
                } else {
                    ns.set_limits(&level, limits(number + 1), "tests").await.unwrap();
                }
            });
        }
        tasks.join_all().await;
    };
    let names = |range: std::ops::Range<u64>| -> Vec<_> {
        range.map(|number| resource(&format!("r{number}"))).collect()
    };
    assert_eq!(scene.ns.resources().await.unwrap(), []);
    run(0).await;
    assert_eq!(scene.ns.resources().await.unwrap(), names(0..RESOURCES));
    run(5).await;
    assert_eq!(scene.ns.resources().await.unwrap(), names(5..RESOURCES));
    let registry = item(scene, keys::resources(scene.ns.id())).await.unwrap();
    assert_eq!(registry.s("GSI4PK"), Some(scene.ns.id().as_str()));
    assert!(registry.s("GSI4SK").is_some());
    for name in names(5..RESOURCES) {
        scene.ns.delete_limits(&Level::Resource(name), "tests").await.unwrap();
    }
    assert_eq!(scene.ns.resources().await.unwrap(), []);
}

async fn entities_are_counted_under_concurrent_sets_and_deletes(scene: &Scene) {
    const ENTITIES: i64 = 8;
    let level = |number: i64, named: bool| {
        Level::Entity(entity(&format!("e{number}")), named.then(|| resource("gpt-4.5")))
    };
    let counts = async || {
        let registry = item(scene, keys::entity_config_resources(scene.ns.id())).await.unwrap();
        (registry.i64("gpt-4.5"), registry.i64("_default_"))
    };
    let named = async || scene.ns.resources_of_entities().await.unwrap();
    assert_eq!(named().await, []);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..ENTITIES {
        let (ns, level) = (scene.ns.clone(), level(number, true));
        tasks.spawn(async move {
            // The second set counts nothing.
            ns.set_limits(&level, limits(1), "tests").await.unwrap();
            ns.set_limits(&level, limits(2), "tests").await.unwrap();
        });
    }
    tasks.join_all().await;
    set(scene, &level(0, false), limits(1)).await;
    assert_eq!(counts().await, (Some(ENTITIES), Some(1)));
    assert_eq!(named().await, [resource("gpt-4.5")]);
    assert_eq!(scene.ns.resources().await.unwrap(), [], "it has no limits for everybody");
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..ENTITIES {
        // Two delete the same level: one of them does.
        for _ in 0..2 {
            let (ns, level) = (scene.ns.clone(), level(number, true));
            tasks.spawn(async move { ns.delete_limits(&level, "tests").await.unwrap() });
        }
    }
    let deleted = tasks.join_all().await.into_iter().filter(|deleted| *deleted).count();
    assert_eq!(deleted, usize::try_from(ENTITIES).unwrap());
    assert_eq!(counts().await, (None, Some(1)));
    assert_eq!(named().await, []);
    scene.ns.delete_limits(&level(0, false), "tests").await.unwrap();
    assert_eq!(counts().await, (None, None));
}

async fn entities_with_limits_are_listed_by_page(scene: &Scene) {
    let gpt = resource("gpt-4");
    let mut names: Vec<_> = (0..5).map(|number| entity(&format!("e{number}"))).collect();
    for name in &names {
        set(scene, &Level::Entity(name.clone(), Some(gpt.clone())), limits(1)).await;
    }
    set(scene, &Level::Entity(entity("other"), None), limits(1)).await;
    names.sort();
    let all = eventually(async || {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = scene.ns.entities_with_limits(Some(&gpt), 2, cursor).await.unwrap();
            assert!(page.items.len() <= 2);
            all.extend(page.items);
            cursor = page.cursor;
            if cursor.is_none() {
                return (all.len() == 5).then_some(all);
            }
        }
    })
    .await;
    assert_eq!(all, names);
    eventually_eq(vec![entity("other")], async || {
        scene.ns.entities_with_limits(None, 100, None).await.unwrap().items
    })
    .await;
    scene.ns.entities_with_limits(None, 100, Some("nonsense".to_owned())).await.unwrap_err();
}

async fn concurrent_sets_of_one_level_all_raise_its_version(scene: &Scene) {
    const SETS: u64 = 8;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=SETS {
        let ns = scene.ns.clone();
        tasks.spawn(async move {
            ns.set_limits(&Level::System, limits(number), "tests").await.unwrap().version
        });
    }
    let mut versions = tasks.join_all().await;
    versions.sort_unstable();
    assert_eq!(versions, (1..=SETS).collect::<Vec<_>>());
    let now = scene.ns.limits(&Level::System).await.unwrap().unwrap();
    assert_eq!(now.version, SETS);
    // Whatever is remembered is what is there.
    let resolved = scene.ns.resolve(&entity("e"), &resource("r"), None).await.unwrap();
    assert_eq!(resolved.limits, now.limits);
}

async fn levels_written_by_zae_limiter_are_read(scene: &Scene) {
    let ns = scene.ns.id();
    let system = Item::new()
        .with("PK", format!("{ns}/SYSTEM#"))
        .with("SK", "#CONFIG")
        .with("l_rpm_cp", 7)
        .with("l_rpm_ra", 7)
        .with("l_rpm_rp", 60)
        .with("audit_retention_days", 30);
    let table = scene.limiter.settings().table.as_str();
    scene.store.write(weir_table::Write::put(table, system)).await.unwrap();
    let read = scene.ns.limits(&Level::System).await.unwrap().unwrap();
    assert_eq!(read, limits(7));
    assert_eq!(set(scene, &Level::System, limits(8)).await.version, 1);
    let now = item(scene, keys::system_config(ns)).await.unwrap();
    assert_eq!(now.i64("audit_retention_days"), Some(30));
    assert_eq!(now.i64("l_rpm_cp"), Some(8));
}

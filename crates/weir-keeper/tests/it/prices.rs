//! Prices of models.

use serde_json::json;
use weir_keeper::Error;
use weir_keeper::day::OrgDay;
use weir_keeper::ids::{Label, ModelId, RequestId, Vendor};
use weir_keeper::money::Price;
use weir_keeper::prices::{PriceQuery, PriceRow, PriceSource, diff};
use weir_keeper::submit::Submission;
use weir_testkit::watched::{Calls, Strike};

use crate::scene::{Scene, app, app_request, org};
use crate::spending::submission;

scenes!(
    an_imported_price_precedes_a_fetched_one_and_that_the_book,
    an_import_replaces_no_more_specific_price,
    every_vendor_has_its_own_price,
    fetched_prices_expire_and_the_price_book_applies_again,
    a_failed_refresh_keeps_the_old_prices,
    an_import_applies_from_its_day_on,
    prices_are_found_by_region_and_profile,
    prices_are_cached,
    all_prices_of_a_day_are_listed,
    invalid_prices_are_refused,
    an_import_takes_effect_atomically,
    an_import_in_parts_applies_once_closed,
    removing_an_import_restores_the_prices_before,
    an_import_that_is_never_closed_is_removed,
    a_process_switches_to_an_import_at_once,
);

const NOVA: &str = "amazon.nova-lite-v1:0";
const DAY_MS: u64 = 86_400_000;

fn model(text: &str) -> ModelId {
    ModelId::new(text).unwrap()
}

fn row(text: &str, region: Option<&str>, input: u64) -> PriceRow {
    let (region, price) = (region.map(Into::into), Price::new(input, 1));
    PriceRow { model_id: model(text), vendor: None, region, price }
}

fn file(entries: &[(&str, Option<&str>, u64)]) -> String {
    let entries = entries.iter().map(|(model, region, input)| {
        let region = region.map_or(String::new(), |region| format!(r#""region":"{region}","#));
        format!(
            r#"{{"model_id":"{model}",{region}"input_price_usd_micros_per_1m":{input},"output_price_usd_micros_per_1m":1}}"#
        )
    });
    let entries = entries.collect::<Vec<_>>().join(",");
    format!(
        r#"{{"source":"s","units":"micro-USD per one million tokens","as_of":"x","entries":[{entries}]}}"#
    )
}

/// The current price of a model, its source and its edition.
async fn now(
    scene: &Scene,
    text: &str,
    region: Option<&str>,
) -> Option<(u64, PriceSource, String)> {
    let label = Label::new("economy").unwrap();
    let (now_ms, model) = (scene.keeper.now_ms(), model(text));
    let query = PriceQuery { region, ..PriceQuery::new(&model) };
    let found = scene.keeper.price_by_label(&query, (&label, None), now_ms).await.unwrap()?;
    Some((found.price.input, found.source, found.version.clone()))
}

async fn an_imported_price_precedes_a_fetched_one_and_that_the_book(scene: &Scene) {
    let book = Some((60_000, PriceSource::PriceBook, "2026-11".to_owned()));
    assert_eq!(now(scene, NOVA, None).await, book);
    let fallback = Some((60_000, PriceSource::ConfigFallback, "config".to_owned()));
    assert_eq!(now(scene, "acme.model", None).await, fallback);
    let at_ms = scene.keeper.now_ms();
    let acme = model("acme.model");
    let unknown = scene.keeper.price(&PriceQuery::new(&acme), at_ms).await.unwrap();
    assert_eq!(unknown, None);
    assert_eq!(scene.keeper.refresh_prices(file(&[(NOVA, None, 7)]).as_bytes()).await.unwrap(), 1);
    let fetched = Some((7, PriceSource::PricingApi, "2037-01-23".to_owned()));
    assert_eq!(now(scene, NOVA, None).await, fetched, "though the other was remembered");
    let today = OrgDay::new(2037, 1, 23).unwrap();
    scene.keeper.import_prices(vec![row(NOVA, None, 8)], today, "ann").await.unwrap();
    let imported = Some((8, PriceSource::Cached, "2037-01-23".to_owned()));
    assert_eq!(now(scene, NOVA, None).await, imported);
    assert_eq!(scene.another().await.list_prices(today).await.unwrap().len(), 1_424);
}

/// Every listed price is the one that counting uses.
async fn agree(scene: &Scene) {
    let today = OrgDay::new(2037, 1, 23).unwrap();
    for listed in scene.keeper.list_prices(today).await.unwrap() {
        let (model, region) = (listed.row.model_id, listed.row.region);
        let vendor = listed.row.vendor.unwrap_or_else(Vendor::bedrock);
        let (now_ms, vendor, region) = (scene.keeper.now_ms(), Some(&vendor), region.as_deref());
        let query = PriceQuery { vendor, region, ..PriceQuery::new(&model) };
        let found = scene.keeper.price(&query, now_ms).await.unwrap();
        let found = found.map(|found| (found.price, found.source, found.version.clone()));
        assert_eq!(found, Some((listed.row.price, listed.source, listed.version)), "{model}");
    }
}

async fn an_import_replaces_no_more_specific_price(scene: &Scene) {
    let (us, gov) = ("us.amazon.nova-lite-v1:0", Some("us-gov-west-1"));
    let today = OrgDay::new(2037, 1, 23).unwrap();
    let (own, named) = (
        "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0",
    );
    assert_eq!(now(scene, own, None).await.unwrap().1, PriceSource::ConfigFallback);
    let cheap = vec![row(NOVA, None, 5), row(own, None, 6)];
    scene.keeper.import_prices(cheap, today, "ann").await.unwrap();
    for (text, region, input) in [
        (NOVA, None, 5),
        (NOVA, Some("eu-west-1"), 5),
        (NOVA, gov, 72_000),
        (us, None, 60_000),
        ("eu.amazon.nova-lite-v1:0", None, 78_000),
        ("ca.amazon.nova-lite-v1:0", None, 5),
        (named, None, 60_000),
        (own, None, 6),
        (own, gov, 6),
    ] {
        assert_eq!(now(scene, text, region).await.unwrap().0, input, "{text} {region:?}");
    }
    agree(scene).await;
    let dear = vec![row(us, Some("us-east-1"), 7), row(named, None, 8), row(NOVA, gov, 9)];
    scene.keeper.import_prices(dear, today, "ann").await.unwrap();
    assert_eq!(now(scene, us, Some("us-east-1")).await.unwrap().0, 7);
    assert_eq!(now(scene, us, Some("us-west-2")).await.unwrap().0, 60_000);
    assert_eq!(now(scene, named, None).await.unwrap().0, 8);
    assert_eq!(now(scene, NOVA, gov).await.unwrap().0, 9);
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 5);
    agree(scene).await;
}

async fn every_vendor_has_its_own_price(scene: &Scene) {
    let today = OrgDay::new(2037, 1, 23).unwrap();
    let (gpt, openai, azure) = (model("gpt-5.4"), vendor("openai"), vendor("azure"));
    let find = async |given: Option<&Vendor>, model: &ModelId| {
        let query = PriceQuery { vendor: given, ..PriceQuery::new(model) };
        let found = scene.keeper.price(&query, scene.keeper.now_ms()).await;
        found.map(|found| found.map(|found| (found.price.input, found.source)))
    };
    let several =
        "gpt-5.4 has prices of several vendors; name one of azure, azure_ai, openai, perplexity";
    for _ in 0..2 {
        let error = find(None, &gpt).await.unwrap_err().to_string();
        assert_eq!(error, format!("vendor: {several}"));
    }
    let book = Some((2_500_000, PriceSource::PriceBook));
    assert_eq!(find(Some(&openai), &gpt).await.unwrap(), book);
    // An import needs the vendor too, and changes its price alone.
    let import = async |rows| scene.keeper.import_prices(rows, today, "ann").await;
    let error = import(vec![row("gpt-5.4", None, 7)]).await.unwrap_err().to_string();
    assert_eq!(error, format!("prices: {several}"));
    let of_openai = PriceRow { vendor: Some(openai.clone()), ..row("gpt-5.4", None, 7) };
    let of_one = row("gpt-5-chat-latest", None, 8);
    let of_acme = PriceRow { vendor: Some(vendor("acme")), ..row("own-1", None, 9) };
    import(vec![of_openai, of_one, of_acme]).await.unwrap();
    assert_eq!(find(Some(&openai), &gpt).await.unwrap(), Some((7, PriceSource::Cached)));
    assert_eq!(find(Some(&azure), &gpt).await.unwrap(), book);
    let only = model("gpt-5-chat-latest");
    for given in [None, Some(&openai)] {
        assert_eq!(find(given, &only).await.unwrap(), Some((8, PriceSource::Cached)));
    }
    assert_eq!(find(None, &model("own-1")).await.unwrap(), Some((9, PriceSource::Cached)));
    assert_eq!(find(Some(&azure), &model("own-1")).await.unwrap(), None);
    agree(scene).await;
    // A label names the vendor for its submissions.
    let keeper = scene
        .another_with(|settings| {
            let def = json!({"vendor": "openai", "model_id": "gpt-5.4"});
            let def = serde_json::from_value(def).unwrap();
            let labels = [(Label::new("premium").unwrap(), def)].into();
            settings.labels = weir_keeper::catalog::ModelCatalog::new(labels).unwrap();
        })
        .await;
    let request = json!({"org_name": "o", "timezone": "UTC", "quota_scope": "ORG",
        "model_ordering": ["premium"], "quotas": {"premium": 1_000_000}});
    let request = serde_json::from_value(request).unwrap();
    keeper.put_org(&org(1), &request, "test").await.unwrap();
    keeper.put_app(&org(1), &app("a"), &app_request(), "test").await.unwrap();
    let usage = Submission { model: gpt, ..submission(scene) };
    let counted = keeper.submit(&org(1), &app("a"), &usage).await.unwrap();
    assert_eq!(
        counted.processing.cost_usd_micros.0, 1,
        "7500 millionths of a micro-USD, rounded up"
    );
    let usage = Submission { vendor: Some(azure), request_id: fresh(), ..usage };
    let counted = keeper.submit(&org(1), &app("a"), &usage).await.unwrap();
    assert_eq!(counted.processing.cost_usd_micros.0, 10_000);
    let selected = keeper.select(&org(1), &app("a"), true).await.unwrap().response;
    let recommended = selected.recommended_model.unwrap();
    assert_eq!(recommended.model_id.as_str(), "gpt-5.4");
    assert_eq!(recommended.vendor, Some(openai));
}

fn vendor(text: &str) -> Vendor {
    Vendor::new(text).unwrap()
}

fn fresh() -> RequestId {
    RequestId::new(uuid::Uuid::new_v4().to_string()).unwrap()
}

async fn fetched_prices_expire_and_the_price_book_applies_again(scene: &Scene) {
    let fetched = |source| Some((7, source, "2037-01-23".to_owned()));
    scene.keeper.refresh_prices(file(&[(NOVA, None, 7)]).as_bytes()).await.unwrap();
    assert_eq!(now(scene, NOVA, None).await, fetched(PriceSource::PricingApi));
    scene.clock.advance_ms(3 * DAY_MS - 1_000);
    assert_eq!(now(scene, NOVA, None).await, fetched(PriceSource::Cached));
    scene.clock.advance_ms(60_000);
    let book = now(scene, NOVA, None).await.unwrap();
    assert_eq!((book.0, book.1), (60_000, PriceSource::PriceBook));
}

async fn a_failed_refresh_keeps_the_old_prices(scene: &Scene) {
    scene.keeper.refresh_prices(file(&[(NOVA, None, 7)]).as_bytes()).await.unwrap();
    let wrong = file(&[(NOVA, None, 9), (NOVA, None, 9)]);
    for file in [&b"<html>"[..], &b"\xff"[..], wrong.as_bytes(), b""] {
        assert!(scene.keeper.refresh_prices(file).await.is_err());
        assert_eq!(now(scene, NOVA, None).await.unwrap().0, 7);
    }
    scene.watch.fail_once(0, Strike::Before);
    let error = scene.keeper.refresh_prices(file(&[(NOVA, None, 9)]).as_bytes()).await.unwrap_err();
    assert!(error.is_unavailable());
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 7);
    scene.watch.fail_once(0, Strike::After);
    scene.keeper.refresh_prices(file(&[(NOVA, None, 9)]).as_bytes()).await.unwrap_err();
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 9, "it was written after all");
}

async fn an_import_applies_from_its_day_on(scene: &Scene) {
    let (today, tomorrow) = (OrgDay::new(2037, 1, 23).unwrap(), OrgDay::new(2037, 1, 24).unwrap());
    scene.keeper.import_prices(vec![row(NOVA, None, 5)], today, "ann").await.unwrap();
    scene.keeper.import_prices(vec![row(NOVA, None, 6)], tomorrow, "ann").await.unwrap();
    let today_ms = scene.keeper.now_ms();
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 5);
    scene.clock.advance_ms(DAY_MS);
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 6);
    let nova = model(NOVA);
    let late = scene.keeper.price(&PriceQuery::new(&nova), today_ms).await.unwrap().unwrap();
    assert_eq!(late.price.input, 5, "a late submission has the price of its day");
    // Fetched prices do not override it, and it does not expire.
    scene.keeper.refresh_prices(file(&[(NOVA, None, 7)]).as_bytes()).await.unwrap();
    scene.clock.advance_ms(500 * DAY_MS);
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 6);
    let error =
        scene.keeper.import_prices(vec![row(NOVA, None, 5)], today, "ann").await.unwrap_err();
    assert!(error.to_string().starts_with("from: 2037-01-23 is in the past"), "{error}");
}

async fn prices_are_found_by_region_and_profile(scene: &Scene) {
    let prices =
        [(NOVA, None, 1), (NOVA, Some("eu-west-1"), 2), ("us.amazon.nova-lite-v1:0", None, 3)];
    scene.keeper.refresh_prices(file(&prices).as_bytes()).await.unwrap();
    let arn = format!("arn:aws:bedrock:eu-west-1::foundation-model/{NOVA}");
    for (text, region, input) in [
        (NOVA, None, 1),
        (NOVA, Some("us-east-1"), 1),
        (NOVA, Some("eu-west-1"), 2),
        ("ca.amazon.nova-lite-v1:0", Some("eu-west-1"), 2),
        // The book has a price for this profile.
        ("eu.amazon.nova-lite-v1:0", Some("eu-west-1"), 78_000),
        ("us.amazon.nova-lite-v1:0", Some("eu-west-1"), 3),
        (arn.as_str(), None, 2),
        (arn.as_str(), Some("us-east-1"), 1),
    ] {
        assert_eq!(now(scene, text, region).await.unwrap().0, input, "{text} {region:?}");
    }
    // A newer import for another region leaves the older one for this region in force.
    let today = OrgDay::new(2037, 1, 23).unwrap();
    scene.keeper.import_prices(vec![row(NOVA, Some("eu-west-1"), 4)], today, "ann").await.unwrap();
    let tomorrow = today.next().unwrap();
    scene
        .keeper
        .import_prices(vec![row(NOVA, Some("us-east-1"), 5)], tomorrow, "ann")
        .await
        .unwrap();
    scene.clock.advance_ms(DAY_MS);
    assert_eq!(now(scene, NOVA, Some("eu-west-1")).await.unwrap().0, 4);
    assert_eq!(now(scene, NOVA, Some("us-east-1")).await.unwrap().0, 5);
    assert_eq!(now(scene, NOVA, Some("ap-south-1")).await.unwrap().0, 1);
}

async fn prices_are_cached(scene: &Scene) {
    for _ in 0..3 {
        now(scene, NOVA, None).await;
        now(scene, "acme.model", Some("eu-west-1")).await;
    }
    assert_eq!(scene.watch.calls(), Calls { gets: 1, queries: 2, ..Calls::default() });
    // A write of another process is visible a minute later.
    let other = scene.another().await;
    other.refresh_prices(file(&[(NOVA, None, 7)]).as_bytes()).await.unwrap();
    scene.clock.advance_ms(59_999);
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 60_000);
    scene.clock.advance_ms(1);
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 7);
}

async fn all_prices_of_a_day_are_listed(scene: &Scene) {
    let today = OrgDay::new(2037, 1, 23).unwrap();
    let rows = async |day| -> Vec<PriceRow> {
        let listed = scene.keeper.list_prices(day).await.unwrap();
        listed.into_iter().map(|listed| listed.row).collect()
    };
    let before = rows(today).await;
    scene
        .keeper
        .refresh_prices(file(&[(NOVA, None, 7), ("acme.model", None, 1)]).as_bytes())
        .await
        .unwrap();
    let tomorrow = today.next().unwrap();
    scene.keeper.import_prices(vec![row(NOVA, Some("mars-1"), 9)], tomorrow, "ann").await.unwrap();
    let changes = |old: &[PriceRow], new: &[PriceRow]| -> Vec<_> {
        let changes = diff(old, new).into_iter();
        changes
            .map(|change| (change.model_id.to_string(), change.new.map(|new| new.input)))
            .collect()
    };
    let after = rows(today).await;
    // The book has a regional price, which a fetched price for all regions does not replace.
    let expected = [("acme.model".to_owned(), Some(1)), (NOVA.to_owned(), Some(7))];
    assert_eq!(changes(&before, &after), expected);
    assert_eq!(changes(&after, &rows(tomorrow).await), [(NOVA.to_owned(), Some(9))]);
    let listed = scene.keeper.list_prices(today).await.unwrap();
    let nova = listed.iter().find(|listed| listed.row.model_id.as_str() == NOVA).unwrap();
    assert_eq!((nova.source, nova.version.as_str()), (PriceSource::PricingApi, "2037-01-23"));
}

async fn invalid_prices_are_refused(scene: &Scene) {
    let today = OrgDay::new(2037, 1, 23).unwrap();
    for (rows, part) in [
        (vec![row(NOVA, None, u64::MAX)], "must be at most"),
        (vec![row(NOVA, None, 1), row(NOVA, None, 1)], "occurs twice"),
        (vec![row(NOVA, Some("no region"), 1)], "is not a region"),
        (vec![row(NOVA, None, 1); 10_001], "more than 10000"),
    ] {
        let error = scene.keeper.import_prices(rows, today, "ann").await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert!(matches!(error, Error::Invalid { .. }));
    }
    assert_eq!(scene.watch.calls(), Calls::default());
}

/// More models than fit one batch write, all at one price.
fn many(input: u64) -> Vec<PriceRow> {
    (0..30).map(|number| row(&format!("acme.model-{number}"), None, input)).collect()
}

/// How many of them have this price, read without a cache.
async fn cost(scene: &Scene, input: u64) -> usize {
    let today = OrgDay::new(2037, 1, 23).unwrap();
    let listed = scene.another().await.list_prices(today).await.unwrap();
    listed.iter().filter(|it| it.row.price.input == input).count()
}

async fn an_import_takes_effect_atomically(scene: &Scene) {
    let today = OrgDay::new(2037, 1, 23).unwrap();
    let (mut input, mut refused) = (1_000_001, 0);
    for strike in [Strike::Before, Strike::After] {
        for skip in 0.. {
            input += 1;
            // Of two imports for one day the later one applies.
            scene.clock.advance_ms(1);
            let keeper = scene.another().await;
            scene.watch.fail_once(skip, strike);
            let imported = keeper.import_prices(many(input), today, "ann").await;
            let struck = !scene.watch.is_planned();
            scene.watch.cancel();
            let count = cost(scene, input).await;
            match imported {
                Ok(import) => assert_eq!((import.models, count), (30, 30)),
                Err(_) => assert!(count == 0 || count == 30, "{count} of 30"),
            }
            refused += u32::from(count == 0);
            if !struck {
                break;
            }
        }
    }
    assert!(refused >= 4, "{refused}");
}

async fn an_import_in_parts_applies_once_closed(scene: &Scene) {
    let (keeper, today) = (&scene.keeper, OrgDay::new(2037, 1, 23).unwrap());
    let import = keeper.begin_import(today, "ann").await.unwrap();
    let mut parts = many(77).into_iter();
    let first: Vec<_> = parts.by_ref().take(10).collect();
    assert_eq!(keeper.add_to_import(&import.id, first).await.unwrap().models, 10);
    assert_eq!(cost(scene, 77).await, 0);
    assert_eq!(now(scene, "acme.model-0", None).await.unwrap().1, PriceSource::ConfigFallback);
    keeper.add_to_import(&import.id, parts.collect()).await.unwrap();
    let closed = keeper.close_import(&import.id).await.unwrap();
    assert_eq!((closed.models, closed.is_open, closed.actor.as_str()), (30, false, "ann"));
    assert_eq!(cost(scene, 77).await, 30);
    assert_eq!(now(scene, "acme.model-0", None).await.unwrap().0, 77);
    let late = keeper.add_to_import(&import.id, many(78)).await.unwrap_err();
    assert!(matches!(late, Error::NotFound { .. }), "it is closed");
}

async fn removing_an_import_restores_the_prices_before(scene: &Scene) {
    let (keeper, today) = (&scene.keeper, OrgDay::new(2037, 1, 23).unwrap());
    let first = keeper.import_prices(vec![row(NOVA, None, 5)], today, "ann").await.unwrap();
    let second = keeper.import_prices(vec![row(NOVA, None, 6)], today, "bob").await.unwrap();
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 6, "the later of one day");
    let known = keeper.list_imports().await.unwrap();
    assert_eq!(known, [second.clone(), first.clone()]);
    keeper.remove_import(&second.id).await.unwrap();
    assert_eq!(now(scene, NOVA, None).await.unwrap().0, 5);
    keeper.remove_import(&first.id).await.unwrap();
    assert_eq!(now(scene, NOVA, None).await.unwrap().1, PriceSource::PriceBook);
    assert!(matches!(keeper.remove_import(&first.id).await.unwrap_err(), Error::NotFound { .. }));
    let table = weir_table::Query::scan(keeper.tables().pricing_cache.clone());
    assert_eq!(scene.store.query(&table).await.unwrap().items.len(), 1, "the list, and no prices");
}

async fn an_import_that_is_never_closed_is_removed(scene: &Scene) {
    let (keeper, today) = (&scene.keeper, OrgDay::new(2037, 1, 23).unwrap());
    let left = keeper.begin_import(today, "ann").await.unwrap();
    keeper.add_to_import(&left.id, many(77)).await.unwrap();
    scene.clock.advance_ms(3_600_000);
    keeper.import_prices(vec![row(NOVA, None, 5)], today, "ann").await.unwrap();
    assert_eq!(keeper.list_imports().await.unwrap().len(), 2, "it may still be under way");
    scene.clock.advance_ms(1_000);
    keeper.import_prices(vec![row(NOVA, None, 6)], today, "ann").await.unwrap();
    let known = keeper.list_imports().await.unwrap();
    assert!(known.len() == 2 && known.iter().all(|import| !import.is_open), "{known:?}");
    assert!(matches!(keeper.close_import(&left.id).await.unwrap_err(), Error::NotFound { .. }));
}

async fn a_process_switches_to_an_import_at_once(scene: &Scene) {
    let today = OrgDay::new(2037, 1, 23).unwrap();
    let other = scene.another().await;
    let costs = async |name: &str| {
        let model = model(name);
        let found = other.price(&PriceQuery::new(&model), other.now_ms()).await.unwrap();
        found.map(|found| found.price.input)
    };
    assert_eq!(costs("acme.model-0").await, None);
    scene.keeper.import_prices(many(77), today, "ann").await.unwrap();
    scene.clock.advance_ms(59_999);
    // One price that was cached and one that was not: both as before, then both as imported.
    assert_eq!((costs("acme.model-0").await, costs("acme.model-1").await), (None, None));
    scene.clock.advance_ms(1);
    assert_eq!((costs("acme.model-1").await, costs("acme.model-0").await), (Some(77), Some(77)));
}

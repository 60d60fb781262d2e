//! Counts the DynamoDB requests and units of each operation, and compares `docs/cost.md` with them.
//!
//! Units are those that DynamoDB Local reports; those of transactions come from our calculator, because Local reports
//! equal writes only once. `WEIR_TEST_BLESS=1` rewrites the page.

use weir_calendar::{DAY_MS, Day};
use weir_reviews::compare;
use weir_reviews::finding::Severity;
use weir_reviews::ids::ReviewId;
use weir_reviews::keys::index_attributes;
use weir_reviews::read::ListOptions;
use weir_reviews::record::NewReview;
use weir_reviews::rollup::{self, DayRange, Level};
use weir_table::dynamodb::{Dynamo, Verb};
use weir_table::{AnyBackend, Item};
use weir_testkit::ledger::Ledger;
use weir_testkit::page::Page;
use weir_testkit::prices::{self, MILLION_READS_MILLIUSD, operation_nanousd, stored_nanousd, usd};

use crate::lists::indexed;
use crate::samples::{category, finding_id, id, model, owner, repo, review, user};
use crate::scene::{NOW_MS, Scene};

const MONTH_DAYS: u64 = 30;
const MODELS: [&str; 5] = ["claude", "gemini", "gpt-5", "llama", "mistral"];
/// Reviews of a repository on the last day; with them every list has a full page.
const TODAY: usize = 100;
/// Days of the comparison, all with reviews.
const DAYS: u32 = 90;
/// Days that a run rolls up at most.
const BOUND: u64 = 1_000;

/// The team of the example: what it does on a day.
const TEAM_REVIEWS: u64 = 200;
const TEAM_FEEDBACK: u64 = 400;
const TEAM_LISTS: u64 = 500;
const TEAM_COMPARISONS: u64 = 20;
/// Runs of the job that find a new review or judgement: at most one for each.
const TEAM_ROLLUPS: u64 = TEAM_REVIEWS + TEAM_FEEDBACK;
/// The other runs, one every 10 s.
const TEAM_IDLE_ROLLUPS: u64 = 86_400 / 10 - TEAM_ROLLUPS;
const RETENTION_DAYS: u64 = 90;

#[test]
fn the_page_shows_what_operations_cost() {
    crate::scene::dynamodb_local(async |scene| {
        let beside = AnyBackend::Dynamo(weir_testkit::stage::dynamodb(&scene.prefix).await);
        let spec = weir_reviews::table::spec(scene.reviews.table());
        scene.watch.weigh(vec![spec], beside);
        let (mut page, mut ledger) = (Page::open(), Ledger::new(&scene.watch, dynamo(scene)));
        let review_bytes = recording(scene, &mut ledger).await;
        fill(scene).await;
        reading(scene, &mut ledger).await;
        rollups(scene, &mut ledger).await;
        changes(scene, &mut ledger).await;
        page.shows("reviews", &ledger.table());
        page.shows("reviews-months", &month(&ledger, review_bytes));
        page.close();
    });
}

fn dynamo(scene: &Scene) -> &Dynamo {
    match &scene.store.backend().inner {
        AnyBackend::Dynamo(dynamo) => dynamo,
        _ => panic!("not on DynamoDB"),
    }
}

fn of_models(text: &str, models: usize, findings: usize, days_ago: i64) -> NewReview {
    let mut review = review(text, &MODELS[..models], findings);
    review.head.created_at_ms = Some(NOW_MS - days_ago * DAY_MS);
    review
}

/// Recordings; returns the bytes that a review of four models takes in the table and its indexes.
async fn recording(scene: &Scene, ledger: &mut Ledger<'_>) -> u64 {
    let team = of_models("four", 4, 10, 0);
    let name = "recording, 4 models × 10 findings";
    ledger.note(name, scene.reviews.record(team, false)).await.unwrap();
    let bytes = scene.items().await.iter().map(stored_bytes).sum();
    let small = of_models("small", 3, 5, 0);
    let name = "recording, 3 models × 5 findings";
    ledger.note(name, scene.reviews.record(small.clone(), false)).await.unwrap();
    let again = ledger.note("the same again", scene.reviews.record(small, false)).await;
    assert!(!again.unwrap().changed);
    assert_eq!(ledger.row("the same again").table_write(), 0);
    let large = of_models("large", 5, 40, 0);
    let name = "recording, 5 models × 40 findings";
    ledger.note(name, scene.reviews.record(large, false)).await.unwrap();
    bytes
}

/// The bytes of an item and its index entries, which have all of its attributes.
fn stored_bytes(item: &Item) -> u64 {
    let is_in = |index: &&&str| item.s(index_attributes(index).0.as_str()).is_some();
    let entries = ["GSI1", "GSI2", "GSI3"].iter().filter(is_in).map(|_| item.size() as u64);
    prices::stored_bytes(item, entries)
}

/// Reviews for full pages of every list, and some on each day before.
async fn fill(scene: &Scene) {
    let earlier = (1..i64::from(DAYS)).map(|day| of_models(&format!("day-{day}"), 4, 2, day));
    let today = (3..TODAY).map(|number| of_models(&format!("today-{number}"), 4, 10, 0));
    for review in earlier.chain(today) {
        scene.reviews.record(review, false).await.unwrap();
    }
}

async fn reading(scene: &Scene, ledger: &mut Ledger<'_>) {
    let reviews = &scene.reviews;
    let (small, large): (ReviewId, ReviewId) = (id("small"), id("large"));
    ledger.note("a review without findings", reviews.get(&small)).await.unwrap();
    let name = "a review with everything, 3 × 5";
    ledger.note(name, reviews.get_whole(&small)).await.unwrap();
    let name = "a review with everything, 5 × 40";
    ledger.note(name, reviews.get_whole(&large)).await.unwrap();
    ledger.note("responses of a review, 5", reviews.responses(&large, 100, None)).await.unwrap();
    ledger.note("findings of a review, 100", reviews.findings(&large, 100, None)).await.unwrap();
    ledger.note("consensus of a review, 40", reviews.consensus(&large, 100, None)).await.unwrap();
    indexed(scene, TODAY).await;
    let (first, day) = (ListOptions::default(), Day::utc(NOW_MS));
    macro_rules! list {
        ($name:literal, $list:expr) => {
            let list = ledger.note($name, $list).await.unwrap();
            assert!(list.items.len() > 50, "{}: {}", $name, list.items.len());
            assert_eq!(ledger.row($name).calls(), [(Verb::Query, 1)]);
        };
    }
    list!("100 reviews of a repository", reviews.by_repo(&owner(), &repo(), &first));
    list!("100 costs of a repository", reviews.costs(&owner(), &repo(), &first));
    list!("100 responses of a model", reviews.by_model(&model("claude"), &first));
    list!("100 reviews of a day", reviews.by_date(day, &first));
    list!("100 of all reviews", reviews.all(&first));
    list!("100 reviews that a user asked for", reviews.by_user(&user("octocat"), &first));
    list!("100 findings of a severity", reviews.findings_by_severity(Severity::High, &first));
    list!("100 of all consensus", reviews.all_consensus(&first));
    list!("100 entries of a category", reviews.findings_by_category(&category("style"), &first));
}

async fn rollups(scene: &Scene, ledger: &mut Ledger<'_>) {
    let (store, table) = (&scene.store, scene.reviews.rollup_table());
    let run = || rollup::run(store, &table, NOW_MS, BOUND);
    let report = run().await.unwrap();
    assert_eq!((report.repository_days, report.all_days), (u64::from(DAYS), u64::from(DAYS)));
    ledger.note("rollup, nothing new", run()).await.unwrap();
    scene.reviews.record(of_models("late", 4, 10, 0), false).await.unwrap();
    let report = ledger.note("rollup of a day with 101 reviews, one new", run()).await.unwrap();
    assert_eq!((report.repository_days, report.all_days), (1, 1));
    let tomorrow = Day::utc(NOW_MS).plus_days(1);
    let range = DayRange::new(tomorrow.plus_days(-i64::from(DAYS)), tomorrow).unwrap();
    for (name, level) in [
        ("comparison of 90 days, all repositories", Level::All),
        ("comparison of 90 days, one repository", Level::Repository(owner(), repo())),
    ] {
        let compared = ledger.note(name, compare::read(store, &table, &level, range, None)).await;
        assert_eq!(compared.unwrap().days, u64::from(DAYS));
    }
}

async fn changes(scene: &Scene, ledger: &mut Ledger<'_>) {
    let reviews = &scene.reviews;
    ledger.note("deletion, 3 × 5", reviews.delete(&id("small"))).await.unwrap();
    ledger.note("deletion, 5 × 40", reviews.delete(&id("large"))).await.unwrap();
    let (four, claude, finding) = (id("four"), model("claude"), finding_id("f-0001"));
    let by = user("octocat");
    ledger.note("feedback", reviews.feedback(&four, &claude, &finding, true, &by)).await.unwrap();
}

/// A month of the team.
fn month(ledger: &Ledger<'_>, review_bytes: u64) -> Vec<String> {
    let of = |name: &str, times_a_day: u64| {
        (times_a_day, operation_nanousd(ledger.row(name)) * times_a_day * MONTH_DAYS)
    };
    let stored = stored_nanousd(review_bytes * TEAM_REVIEWS * RETENTION_DAYS);
    // AWS bills a strongly consistent query that finds nothing as one unit, which Local does not report.
    let idle =
        ledger.row("rollup, nothing new").calls().iter().map(|(_, calls)| calls).sum::<u64>();
    let idle_cost = idle * MILLION_READS_MILLIUSD * TEAM_IDLE_ROLLUPS * MONTH_DAYS;
    let rows = [
        ("reviews recorded", of("recording, 4 models × 10 findings", TEAM_REVIEWS)),
        ("reviews read with everything", of("a review with everything, 5 × 40", TEAM_REVIEWS)),
        ("findings judged", of("feedback", TEAM_FEEDBACK)),
        ("list pages", of("100 findings of a severity", TEAM_LISTS)),
        ("comparisons of 90 days", of("comparison of 90 days, all repositories", TEAM_COMPARISONS)),
        ("rollups with new reviews", of("rollup of a day with 101 reviews, one new", TEAM_ROLLUPS)),
        ("rollups that find nothing", (TEAM_IDLE_ROLLUPS, idle_cost)),
    ];
    let mut lines = vec!["| | a day | $ a month |".to_owned(), "|---|--:|--:|".to_owned()];
    let line = |name: &str, times: String, nanousd: u64| {
        format!("| {name} | {times} | {} |", usd(nanousd))
    };
    lines.extend(rows.iter().map(|(name, (times, cost))| line(name, times.to_string(), *cost)));
    let gigabytes = review_bytes * TEAM_REVIEWS * RETENTION_DAYS / 10_000_000;
    let kept = format!("{}.{:02} GB", gigabytes / 100, gigabytes % 100);
    lines.push(line("stored, 90 days of reviews", kept, stored));
    let sum = rows.iter().map(|(_, (_, cost))| cost).sum::<u64>() + stored;
    lines.push(line("**together**", String::new(), sum));
    lines
}

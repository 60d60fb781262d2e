//! The query examples of AlgoItny, on a table with everything that is kept beside its items.

use weir_calendar::Day;
use weir_practice::ids::{
    Email, EventId, GoogleId, HistoryId, PlanId, Platform, ProblemId, ProblemRef, Tag, TestCaseId,
    UserId,
};
use weir_practice::item::{COUNT, Data, entity, list_entry};
use weir_practice::keys::{self, List};
use weir_practice::kinds::{Action, EntityType, ProblemStatus};
use weir_practice::list::PageRequest;
use weir_table::expr::attr;
use weir_table::{Item, Query, Value, Write};
use weir_testkit::eventually_eq;

use crate::scene::{NOW_MS, Scene};

scenes!(
    usage_is_counted_without_the_counters,
    a_login_finds_the_user_first,
    a_problem_has_its_test_cases,
    the_feed_is_read_by_keys,
    scans_find_each_user_once,
);

const NOW_S: i64 = NOW_MS / 1000;

fn user() -> UserId {
    UserId::new("12345").unwrap()
}

fn text<'a>(item: &'a Item, field: &str) -> &'a str {
    weir_practice::item::field(field).find(item).and_then(Value::as_s).unwrap()
}

impl Scene {
    fn query(&self, partition: &str) -> Query {
        Query::partition(self.practice.table().clone(), partition)
    }

    async fn put(&self, items: impl IntoIterator<Item = Item>) {
        let table = self.practice.table();
        let writes = items.into_iter().map(|item| Write::put(table.clone(), item));
        assert!(self.practice.transact(writes.collect()).await.unwrap().is_applied());
    }

    async fn put_user(&self) {
        let (user, email) = (user(), Email::new("Ann@example.com").unwrap());
        let google = GoogleId::new("1047").unwrap();
        let data = Data::new().with("em", email.as_str()).with("plan", 1).with("act", true);
        let whole = entity(keys::user(&user), EntityType::User, data.clone(), NOW_S);
        let whole = keys::login_by_email(&email).put_on(whole);
        let whole = List::Users.user(NOW_S, &user).index.put_on(whole);
        let copy = entity(keys::google_login(&user), EntityType::Login, data, NOW_S);
        let reserved = |key| entity(key, EntityType::Unique, Data::new(), NOW_S);
        self.put([
            whole,
            keys::login_by_google(&google).put_on(copy),
            reserved(keys::email(&email)),
            reserved(keys::google_id(&google)),
            list_entry(List::UsersOfPlan(PlanId::FREE).user(NOW_S, &user)),
        ])
        .await;
    }
}

/// Examples 1, 5 and 8.
async fn usage_is_counted_without_the_counters(scene: &Scene) {
    let (user, day) = (user(), Day::utc(NOW_MS));
    let log = |action: Action| {
        let id = EventId::next(scene.practice.event_ids(), NOW_MS);
        let key = keys::usage_log(&user, day, NOW_MS, action, &id);
        let data = Data::new().with("act", action.as_str()).with_or_null("pid", None::<i64>);
        entity(key, EntityType::UsageLog, data, NOW_S)
    };
    let counter = |action: Action, n: i64| {
        let key = keys::action_count(&user, day, action);
        entity(key, EntityType::Counter, Data::new(), NOW_S).with(COUNT, n)
    };
    let logs = [log(Action::Hint), log(Action::Hint), log(Action::Execution)];
    scene
        .put(logs.into_iter().chain([counter(Action::Hint, 2), counter(Action::Execution, 1)]))
        .await;

    let of_day = scene.query("USR#12345#ULOG#20370123").begins_with("ULOG#");
    let hints = of_day.filter(attr("dat").field("act").eq("hint")).count_only();
    assert_eq!(scene.store.query(&hints).await.unwrap().count, 2);

    let is_log = attr("tp").eq("ulog").and(attr("PK").contains("ULOG#20370123"));
    let found = scene.all(Query::scan(scene.practice.table().clone()).filter(is_log)).await;
    assert_eq!(found.iter().filter(|item| text(item, "act") == "execution").count(), 1);
    assert_eq!(found.len(), 3);
}

/// Example 2, by email address and by Google id.
async fn a_login_finds_the_user_first(scene: &Scene) {
    scene.put_user().await;
    for partition in ["USR#Ann@example.com", "USR#1047"] {
        let query = scene.query(partition).index("GSI1");
        eventually_eq(1, async || scene.all(query.clone()).await.len()).await;
        let found = scene.all(query).await;
        assert_eq!(found[0].s("PK").unwrap().split('#').nth(1), Some("12345"));
        assert_eq!(text(&found[0], "em"), "Ann@example.com");
    }
}

/// Example 3.
async fn a_problem_has_its_test_cases(scene: &Scene) {
    let platform = Platform::new("baekjoon").unwrap();
    let at = ProblemRef { platform: platform.clone(), id: ProblemId::new("1000").unwrap() };
    let data = Data::new().with("tit", "A+B").with("nrv", true).with("del", false);
    let problem = entity(keys::problem(&at), EntityType::Problem, data, NOW_S);
    let case = |id: &str| {
        let data = Data::new().with("inp", id).with("out", "3");
        let key = keys::test_case(&at, &TestCaseId::new(id).unwrap());
        entity(key, EntityType::TestCase, data, NOW_S)
    };
    let lists = [
        List::ProblemsOfStatus(ProblemStatus::NeedsReview),
        List::ProblemsOfPlatform(platform),
        List::ProblemsWithTag(Tag::new("math").unwrap()),
    ];
    let entries = lists.iter().map(|list| list_entry(list.problem(NOW_S, &at)));
    let problem = List::Problems.problem(NOW_S, &at).index.put_on(problem);
    scene.put([problem, case("1"), case("2")].into_iter().chain(entries)).await;

    let found = scene.all(scene.query("PROB#baekjoon#1000")).await;
    let heads: Vec<_> = found.iter().filter(|item| item.s("SK") == Some("META")).collect();
    assert_eq!((heads.len(), text(heads[0], "tit")), (1, "A+B"));
    let is_case = |item: &&Item| item.s("SK").unwrap().starts_with("TC#");
    let inputs: Vec<_> = found.iter().filter(is_case).map(|item| text(item, "inp")).collect();
    assert_eq!(inputs, ["1", "2"]);

    for list in lists.iter().chain([&List::Problems]) {
        let page = PageRequest::default();
        let members = async || scene.practice.members(list, &page).await.unwrap().items;
        eventually_eq(1, async || members().await.len()).await;
        assert_eq!(text(&members().await[0], "tit"), "A+B");
    }
}

/// Examples 4 and 6; the program of the source wrote one of the runs.
async fn the_feed_is_read_by_keys(scene: &Scene) {
    let run = |id: &str, created_s: i64| {
        let id = HistoryId::new(id).unwrap();
        let item = entity(keys::history(&id), EntityType::History, Data::new(), created_s);
        let item = List::Feed(None).run(created_s, &id).index.put_on(item);
        keys::run_of_user(&user(), created_s, &id).put_on(item)
    };
    let theirs = Item::new()
        .with("PK", "HIST#77")
        .with("SK", "META")
        .with("tp", "hist")
        .with("GSI2PK", "HIST#PUBLIC")
        .with("GSI2SK", format!("{}#77", NOW_S + 1));
    scene.put([run("5", NOW_S), theirs, run("6", NOW_S + 2)]).await;

    let feed = scene.query("HIST#PUBLIC").index("GSI2").reverse();
    eventually_eq(3, async || scene.all(feed.clone()).await.len()).await;
    let keys: Vec<_> = scene.all(feed).await.iter().filter_map(keys::key_of).collect();
    let texts: Vec<_> = keys.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["HIST#6 | META", "HIST#77 | META", "HIST#5 | META"]);
    assert_eq!(scene.practice.items(keys).await.unwrap().len(), 3);

    let own = scene.query(&keys::own_history_partition(&user())).index("GSI1");
    eventually_eq(2, async || scene.all(own.clone()).await.len()).await;
}

/// Example 7.
async fn scans_find_each_user_once(scene: &Scene) {
    scene.put_user().await;
    let dat = |name: &str| attr("dat").field(name);
    let of_plan = attr("tp").eq("usr").and(dat("plan").eq(1)).and(dat("act").eq(true));
    let found = scene.all(Query::scan(scene.practice.table().clone()).filter(of_plan)).await;
    assert_eq!(found.len(), 1);
}

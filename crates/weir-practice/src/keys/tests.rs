use weir_table::limits::{PARTITION_KEY_MAX, SORT_KEY_MAX};

use super::*;
use crate::ids::{Platform, ProblemId, Tag};
use crate::kinds::{JobStatus, ProblemStatus};

const AT_S: i64 = 1_759_917_600;
const AT_MS: i64 = 1_759_917_600_123;
const ULID: &str = "01JAB3XK5N8Q2R7T9V0W1Y4Z6C";

fn user_id() -> UserId {
    UserId::new("12345").unwrap()
}

fn event() -> EventId {
    EventId::new(ULID).unwrap()
}

fn day() -> Day {
    Day::from_compact("20251008").unwrap()
}

fn problem_ref() -> ProblemRef {
    let id = ProblemId::new("1000").unwrap();
    ProblemRef { platform: Platform::new("baekjoon").unwrap(), id }
}

#[test]
fn the_text_of_keys_of_users_is_stable() {
    let user_id = user_id();
    let address = Email::new("Ann@Example.com").unwrap();
    for (key, expected) in [
        (user(&user_id), "USR#12345 | META"),
        (google_login(&user_id), "USR#12345 | LOGIN#google"),
        (latest_day(&user_id), "USR#12345 | DAY"),
        (problem_count(&user_id), "USR#12345 | COUNT#problems"),
        (email(&address), "EMAIL#ann@example.com | META"),
        (google_id(&GoogleId::new("1047").unwrap()), "GOOGLE#1047 | META"),
        (erasure(&user_id), "ERASURES | 12345"),
        (plan(PlanId::FREE), "PLAN#1 | META"),
        (plan_users(PlanId::FREE), "PLAN#1 | COUNT#users"),
        (plan_sequence(), "PLANS | SEQUENCE"),
        (audit(&event()), "AUDIT | AUDIT#01JAB3XK5N8Q2R7T9V0W1Y4Z6C"),
    ] {
        assert_eq!(key.to_string(), expected);
    }
    assert_eq!(parse_user("USR#12345"), Some(user_id));
    assert_eq!(parse_plan("PLAN#1"), Some(PlanId::FREE));
    assert_eq!(parse_audit(&audit_sort(ULID)), Some(event()));
    for bad in ["", "USR#", "USR#1#ULOG#20251008", "PLAN#x", "AUDIT#1"] {
        assert_eq!((parse_user(bad), parse_plan(bad), parse_audit(bad)), (None, None, None));
    }
}

#[test]
fn the_text_of_keys_of_usage_is_stable() {
    let user = user_id();
    let key = IdempotencyKey::new("retry 1").unwrap();
    for (key, expected) in [
        (action_count(&user, day(), Action::Hint), "USR#12345#ULOG#20251008 | COUNT#hint"),
        (
            usage_log(&user, day(), AT_MS, Action::Execution, &event()),
            "USR#12345#ULOG#20251008 | ULOG#1759917600123#execution#01JAB3XK5N8Q2R7T9V0W1Y4Z6C",
        ),
        (
            idempotency(&user, &key),
            "IDEM#12345#80ae8497cc2d1e20a7d71d6f7d45450b7ad4b09439997e4d8201c0f4a245bd10 | META",
        ),
        (rollup(day()), "ULOG_AGG#20251008 | META"),
        (user_rollup(day(), &user), "ULOG_AGG#20251008 | USR#12345"),
        (archive_checkpoint(day()), "ULOG_AGG#20251008 | ARCHIVE"),
    ] {
        assert_eq!(key.to_string(), expected);
    }
    assert_eq!(parse_usage_day("USR#12345#ULOG#20251008"), Some((user, day())));
    let log = |sort| parse_usage_log(sort);
    let ours = "ULOG#1759917600123#execution#01JAB3XK5N8Q2R7T9V0W1Y4Z6C";
    assert_eq!(log(ours), Some((AT_MS, Action::Execution, Some(event()))));
    assert_eq!(log("ULOG#1759917600#hint"), Some((AT_S * 1000, Action::Hint, None)));
    assert_eq!(parse_action_count("COUNT#hint"), Some(Action::Hint));
    for bad in ["", "USR#1", "ULOG#x#hint", "ULOG#1#other", "ULOG#1#hint#x", "COUNT#problems"] {
        assert_eq!((parse_usage_day(bad), log(bad), parse_action_count(bad)), (None, None, None));
    }
}

#[test]
fn the_text_of_keys_of_problems_and_runs_is_stable() {
    let at = problem_ref();
    let run = HistoryId::new("5000").unwrap();
    for (key, expected) in [
        (problem(&at), "PROB#baekjoon#1000 | META"),
        (test_case_count(&at), "PROB#baekjoon#1000 | COUNT#testcases"),
        (upload(&at, "00ff"), "PROB#baekjoon#1000 | BULK#00ff"),
        (test_case(&at, &TestCaseId::new("7").unwrap()), "PROB#baekjoon#1000 | TC#7"),
        (history(&run), "HIST#5000 | META"),
        (feed_days(), "FEED | DAYS"),
        (object_mark(AT_MS, "history/5000/cod-1"), "OBJECTS#3 | 1759917600123#history/5000/cod-1"),
    ] {
        assert_eq!(key.to_string(), expected);
    }
    assert_eq!(parse_problem("PROB#baekjoon#1000"), Some(at));
    assert_eq!(parse_test_case("TC#7").unwrap().as_str(), "7");
    assert_eq!(parse_history("HIST#5000"), Some(run));
    let mark = object_mark_sort(AT_MS, "a/b#c");
    assert_eq!(parse_object_mark(&mark), Some((AT_MS, "a/b#c")));
    for bad in ["", "PROB#baekjoon", "PROB#a#b#c", "IDX#TAG#dp", "META"] {
        assert_eq!(
            (parse_problem(bad), parse_test_case(bad), parse_history(bad)),
            (None, None, None)
        );
    }
}

#[test]
fn the_text_of_keys_of_jobs_is_stable() {
    let id = JobId::new("42").unwrap();
    let (script, extraction) = (JobType::ScriptGeneration, JobType::ProblemExtraction);
    for (key, expected) in [
        (job(script, &id), "SGJ#42 | META"),
        (job(extraction, &id), "PEJ#42 | META"),
        (
            progress(script, &id, AT_MS, &event()),
            "SGJ#42 | JPH#1759917600123#01JAB3XK5N8Q2R7T9V0W1Y4Z6C",
        ),
        (task(&TaskId::new("3f2a-77").unwrap()), "TRES#3f2a-77 | META"),
    ] {
        assert_eq!(key.to_string(), expected);
    }
    assert_eq!(parse_job("PEJ#42"), Some((extraction, id)));
    let ours = "JPH#1759917600123#01JAB3XK5N8Q2R7T9V0W1Y4Z6C";
    assert_eq!(parse_progress(ours), Some((AT_MS, Some(event()))));
    assert_eq!(parse_progress("JPH#1759917600"), Some((AT_S * 1000, None)));
    for bad in ["", "XYZ#1", "SGJ#", "JPH#x", "META"] {
        assert_eq!((parse_job(bad), parse_progress(bad)), (None, None));
    }
}

#[test]
fn the_text_of_index_keys_is_stable() {
    let (user, run) = (user_id(), HistoryId::new("5000").unwrap());
    let address = Email::new("Ann@Example.com").unwrap();
    for (key, expected) in [
        (login_by_email(&address), "GSI1: USR#Ann@Example.com | META"),
        (login_by_google(&GoogleId::new("1047").unwrap()), "GSI1: USR#1047 | META"),
        (run_of_user(&user, AT_S, &run), "GSI1: USR#12345#HIST | 1759917600#5000"),
    ] {
        assert_eq!(format!("{}: {} | {}", key.index, key.partition, key.sort), expected);
    }
    assert_eq!(index_attributes(GSI2), ("GSI2PK".into(), "GSI2SK".into()));
}

#[test]
fn the_text_of_entries_of_lists_is_stable() {
    let (user, at) = (user_id(), problem_ref());
    let (script, id) = (JobType::ScriptGeneration, JobId::new("42").unwrap());
    let run = HistoryId::new("5000").unwrap();
    let review = List::ProblemsOfStatus(ProblemStatus::NeedsReview);
    let pending = List::JobsOfStatus(script, JobStatus::Pending);
    let tagged = List::ProblemsWithTag(Tag::new("two pointers").unwrap());
    let of_platform = List::ProblemsOfPlatform(at.platform.clone());
    for (entry, item, index) in [
        (List::Feed(None).run(AT_S, &run), "HIST#5000 | META", "HIST#PUBLIC | 1759917600#5000"),
        (
            List::Feed(Some(day())).run(AT_S, &run),
            "HIST#5000 | META",
            "HIST#PUBLIC#20251008 | 1759917600#5000",
        ),
        (List::Users.user(AT_S, &user), "USR#12345 | META", "LIST#USR | 1759917600#12345"),
        (
            List::UsersOfPlan(PlanId::PRO).user(AT_S, &user),
            "USR#12345 | IDX#PLAN",
            "LIST#USR#PLAN#2 | 1759917600#12345",
        ),
        (List::Plans.plan(AT_S, PlanId::FREE), "PLAN#1 | META", "LIST#PLAN | 1759917600#1"),
        (
            List::Problems.problem(AT_S, &at),
            "PROB#baekjoon#1000 | META",
            "LIST#PROB | 1759917600#baekjoon#1000",
        ),
        (
            review.problem(AT_S, &at),
            "PROB#baekjoon#1000 | IDX#STATUS#needs_review",
            "LIST#PROB#STATUS#needs_review | 1759917600#baekjoon#1000",
        ),
        (
            of_platform.problem(AT_S, &at),
            "PROB#baekjoon#1000 | IDX#PLATFORM",
            "LIST#PROB#PLATFORM#baekjoon | 1759917600#baekjoon#1000",
        ),
        (
            tagged.problem(AT_S, &at),
            "PROB#baekjoon#1000 | IDX#TAG#two pointers",
            "LIST#PROB#TAG#two pointers | 1759917600#baekjoon#1000",
        ),
        (List::Jobs(script).job(AT_S, script, &id), "SGJ#42 | META", "LIST#SGJ | 1759917600#42"),
        (
            pending.job(AT_S, script, &id),
            "SGJ#42 | IDX#STATUS",
            "LIST#SGJ#STATUS#PENDING | 1759917600#42",
        ),
        (
            List::lease(AT_MS, script, &id),
            "SGJ#42 | IDX#LEASE",
            "LIST#SGJ#LEASE | 1759917600123#42",
        ),
        (
            List::top_user(day(), 17, &user),
            "ULOG_AGG#20251008 | USR#12345",
            "ULOG_AGG#20251008 | 000000000017#12345",
        ),
    ] {
        assert_eq!(entry.key.to_string(), item);
        assert_eq!(entry.index.index, "GSI2");
        assert_eq!(format!("{} | {}", entry.index.partition, entry.index.sort), index);
    }
    assert_eq!(parse_top_user("000000000017#12345"), Some((17, user)));
}

#[test]
fn texts_sort_by_time() {
    let times = [i64::MIN, 0, 1, 999, 1_000, AT_MS - 1, AT_MS, AT_MS + 1, i64::MAX];
    let (in_ms, in_s) = (times.map(millis), times.map(seconds));
    assert!(in_ms.is_sorted() && in_ms.iter().all(|text| text.len() == 13), "{in_ms:?}");
    assert!(in_s.is_sorted() && in_s.iter().all(|text| text.len() == 10), "{in_s:?}");
}

#[test]
fn the_longest_ids_fit_the_key_limits() {
    let user = UserId::new("u".repeat(64)).unwrap();
    let at = ProblemRef {
        platform: Platform::new("p".repeat(32)).unwrap(),
        id: ProblemId::new("i".repeat(128)).unwrap(),
    };
    let tag = List::ProblemsWithTag(Tag::new("t".repeat(100)).unwrap()).problem(AT_S, &at);
    let address = Email::new(&format!("{}@x", "a".repeat(252))).unwrap();
    for key in [
        usage_log(&user, day(), AT_MS, Action::Execution, &event()),
        email(&address),
        google_id(&GoogleId::new("g".repeat(255)).unwrap()),
        test_case(&at, &TestCaseId::new("t".repeat(64)).unwrap()),
        object_mark(AT_MS, &"n".repeat(crate::bounds::OBJECT_NAME_MAX)),
        tag.key,
        Key::new(tag.index.partition, tag.index.sort),
    ] {
        assert!(key.partition.size() <= PARTITION_KEY_MAX);
        assert!(key.sort.is_none_or(|sort| sort.size() <= SORT_KEY_MAX));
    }
}

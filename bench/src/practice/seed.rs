//! Fills a table through the domain, day by day, so that every item is what the service itself stores.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use weir_practice::history::NewRun;
use weir_practice::ids::{Email, GoogleId, PlanId, Platform, ProblemId, ProblemRef, Tag, UserId};
use weir_practice::kinds::Action;
use weir_practice::objects::Objects;
use weir_practice::problems::NewProblem;
use weir_practice::test_cases::NewTestCase;
use weir_practice::usage::UsageRequest;
use weir_practice::users::NewUser;
use weir_practice::{Practice, Settings};
use weir_table::Store;
use weir_table::clock::Clock;
use weir_table::embedded::{Embedded, Options};

use crate::measure::scatter;

pub(super) const PLATFORM: &str = "baekjoon";
const TAGS: [&str; 8] =
    ["math", "graphs", "strings", "greedy", "dp", "geometry", "sorting", "implementation"];
/// Days before today that have usage and runs.
const DAYS: u64 = 50;
const DAY_MS: u64 = 86_400_000;
const TEST_CASES: u64 = 5;
/// Every so many users are on the plan Pro, the others on Free.
const PRO_EVERY: u64 = 5;
/// Tasks that write.
const WRITERS: u64 = 64;
/// The file that names the volumes of a complete folder.
const MARK: &str = "seeded.txt";
const ACTOR: &str = "bench";

/// How much a table holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Volumes {
    pub(super) users: u64,
    pub(super) problems: u64,
    runs: u64,
    usage: u64,
}

impl Volumes {
    /// The volumes of the source document.
    pub(super) const SOURCE: Volumes =
        Volumes { users: 10_000, problems: 5_000, runs: 100_000, usage: 500_000 };

    pub(super) fn tenth(self) -> Volumes {
        let Volumes { users, problems, runs, usage } = self;
        Volumes { users: users / 10, problems: problems / 10, runs: runs / 10, usage: usage / 10 }
    }
}

impl fmt::Display for Volumes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Volumes { users, problems, runs, usage } = self;
        let cases = problems * TEST_CASES;
        write!(
            f,
            "{users} users, {problems} problems, {cases} test cases, {runs} runs, {usage} usage items"
        )
    }
}

/// Seeds the folder, unless it is already.
pub(super) fn ensure(folder: &Path, volumes: Volumes) {
    let mark = folder.join(MARK);
    let (seeded, wanted) = (std::fs::read_to_string(&mark).ok(), volumes.to_string());
    if seeded.as_ref() == Some(&wanted) {
        return;
    }
    let is_new = seeded.is_none() && !folder.exists();
    assert!(is_new, "{} has other data; choose another folder", folder.display());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("tokio");
    runtime.block_on(seed(folder, volumes));
    std::fs::write(&mark, wanted).expect("the mark");
}

async fn seed(folder: &Path, volumes: Volumes) {
    let clock = Clock::manual(Clock::System.now_ms() - DAYS * DAY_MS);
    let embedded = Embedded::open(Options::new(folder)).expect("the store opens");
    let cursors = embedded.cursor_key();
    let store = Store::new(embedded, cursors);
    let opened =
        Practice::open(store, Objects::unavailable(), clock.clone(), Settings::default()).await;
    let practice = opened.expect("practice opens");
    each(&practice, "users", 0..volumes.users, create_user).await;
    each(&practice, "problems", 0..volumes.problems, create_problem).await;
    for day in 0..DAYS {
        let part = |count: u64| day * count / DAYS..(day + 1) * count / DAYS;
        let users = volumes.users;
        let title = |of: &str| format!("{of}, day {} of {DAYS}", day + 1);
        let usage = move |practice, number| take_usage(practice, number, users);
        each(&practice, &title("usage"), part(volumes.usage), usage).await;
        let run = move |practice, number| record_run(practice, number, users);
        each(&practice, &title("runs"), part(volumes.runs), run).await;
        clock.advance_ms(DAY_MS);
    }
    practice.store().backend().close().await.expect("the store closes");
}

/// Does something for every number, from many tasks.
async fn each<W, O>(
    practice: &Practice<Embedded>,
    title: &str,
    numbers: std::ops::Range<u64>,
    write: W,
) where
    W: Fn(Practice<Embedded>, u64) -> O + Clone + Send + 'static,
    O: Future<Output = ()> + Send,
{
    let bar = ProgressBar::new(numbers.end - numbers.start).with_message(title.to_owned());
    let template = "{msg:24} {bar:40} {pos}/{len} {per_sec} {eta}";
    bar.set_style(ProgressStyle::with_template(template).expect("a template"));
    bar.enable_steady_tick(Duration::from_millis(250));
    let next = Arc::new(AtomicU64::new(numbers.start));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (practice, bar) = (practice.clone(), bar.clone());
            let (next, end, write) = (Arc::clone(&next), numbers.end, write.clone());
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        return;
                    }
                    write(practice.clone(), number).await;
                    bar.inc(1);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer");
    }
    bar.finish_and_clear();
}

pub(super) fn user_id(number: u64) -> String {
    (number + 1).to_string()
}

pub(super) fn email(user: u64) -> String {
    format!("user-{}@example.com", user + 1)
}

pub(super) fn google_id(user: u64) -> String {
    format!("10472193450293{user:07}")
}

pub(super) fn problem_id(number: u64) -> String {
    (number + 1_000).to_string()
}

async fn create_user(practice: Practice<Embedded>, number: u64) {
    let plan = if number.is_multiple_of(PRO_EVERY) { 2 } else { 1 };
    let new = NewUser {
        id: Some(UserId::new(user_id(number)).expect("an id")),
        picture_url: Some(format!("https://lh3.googleusercontent.com/a/picture-{number}=s96-c")),
        google_id: Some(GoogleId::new(google_id(number)).expect("a Google id")),
        plan: Some(PlanId::new(plan).expect("a plan")),
        ..NewUser::new(Email::new(&email(number)).expect("an address"), format!("User {number}"))
    };
    practice.create_user(new, ACTOR).await.expect("a user");
}

async fn create_problem(practice: Practice<Embedded>, number: u64) {
    let platform = Platform::new(PLATFORM).expect("a platform");
    let at = ProblemRef { platform, id: ProblemId::new(problem_id(number)).expect("an id") };
    let tag = |n: u64| Tag::new(*TAGS.get((number + n) as usize % TAGS.len()).expect("a tag"));
    let mut new = NewProblem::new(at, format!("Problem {number}"));
    new.url = Some(format!("https://www.acmicpc.net/problem/{}", problem_id(number)));
    new.tags = [0, 3].map(|n| tag(n).expect("a tag")).into();
    new.solution_code = Some(text(number, 1_000));
    new.language = Some("python".to_owned());
    new.constraints = Some("1 ≤ N ≤ 100 000; 2 s; 256 MB".to_owned());
    new.is_published = true;
    let case = |case: u64| NewTestCase {
        input: text(number * TEST_CASES + case, 150),
        output: text(number * TEST_CASES + case, 100),
        is_sample: case == 0,
    };
    new.test_cases = (0..TEST_CASES).map(case).collect();
    practice.create_problem(new, None, ACTOR).await.expect("a problem");
}

async fn take_usage(practice: Practice<Embedded>, number: u64, users: u64) {
    let user = UserId::new(user_id(scatter(1, number) % users)).expect("an id");
    practice.take_usage(&user, &UsageRequest::new(Action::Execution)).await.expect("usage");
}

/// Records a public run of about 2 KB.
async fn record_run(practice: Practice<Embedded>, number: u64, users: u64) {
    let problem = problem_id(scatter(2, number) % 1_000);
    let platform = Platform::new(PLATFORM).expect("a platform");
    let mut run = NewRun::new(platform, problem, text(number, 1_150));
    let user = scatter(3, number) % users;
    run.user_id = Some(UserId::new(user_id(user)).expect("an id"));
    run.user_identifier = Some(email(user));
    run.problem_title = Some(format!("Problem {number}"));
    run.language = Some("python".to_owned());
    (run.passed_count, run.failed_count, run.total_count) = (4, 1, 5);
    run.is_public = true;
    run.test_results = serde_json::json!([{"id": 1, "ok": true}, {"id": 2, "ok": false}]);
    practice.record_run(run).await.expect("a run");
}

/// Text that is the same for a seed and hardly compresses.
fn text(seed: u64, bytes: usize) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.alphanumeric()).take(bytes).collect()
}

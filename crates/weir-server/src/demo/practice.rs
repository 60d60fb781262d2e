//! The practice platform's part of the demo: users on plans who solve problems, and workers that make test cases.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::json;
use weir_framework::app::App;
use weir_framework::jobs::{Failure, Result};
use weir_practice::Practice;
use weir_practice::history::NewRun;
use weir_practice::ids::{Email, PlanId, Platform, ProblemId, ProblemRef, Tag, UserId};
use weir_practice::kinds::Action;
use weir_practice::plans::{PlanFields, PlanLimit};
use weir_practice::problems::NewProblem;
use weir_practice::test_cases::NewTestCase;
use weir_practice::usage::UsageRequest;
use weir_practice::users::NewUser;
use weir_table::AnyBackend;

use super::people::{Person, everybody};
use super::practice_jobs::JobsDemo;
use super::{opened, pattern};

const PROBLEMS: &str = include_str!("problems.json");
const OPERATOR: &str = "ruth.adeyemi";
const LANGUAGES: [(&str, &str); 4] = [
    (
        "python",
        "import sys\n\ndef main():\n    data = sys.stdin.read().split()\n    print(solve(data))\n\nmain()\n",
    ),
    (
        "cpp",
        "#include <bits/stdc++.h>\nusing namespace std;\n\nint main() {\n  int n;\n  cin >> n;\n  cout << solve(n) << '\\n';\n}\n",
    ),
    (
        "java",
        "class Main {\n  public static void main(String[] a) {\n    System.out.println(solve(new java.util.Scanner(System.in)));\n  }\n}\n",
    ),
    (
        "rust",
        "fn main() {\n    let input = std::io::read_to_string(std::io::stdin()).unwrap();\n    println!(\"{}\", solve(&input));\n}\n",
    ),
];
/// Actions of the busiest user in the busiest hour, in thousandths per percent of activity.
const ACTIONS_MILLI: u64 = 12;
/// Users who act at the same time.
const AT_ONCE: usize = 32;
const DAY_MS: i64 = 24 * 3_600_000;
/// Test cases of a problem.
const TEST_CASES: usize = 5;

/// Platform, id, title, tags, and whether it is published.
pub(super) type ProblemSpec = (String, String, String, Vec<String>, bool);

/// A user who practises.
struct Learner {
    id: UserId,
    person: Person,
    /// How keen, in percent of the keenest.
    zeal: u64,
    random: fastrand::Rng,
}

/// The platform.
pub(super) struct PracticeDemo {
    practice: Practice<AnyBackend>,
    learners: Vec<Learner>,
    problems: Vec<ProblemSpec>,
    jobs: JobsDemo,
}

impl PracticeDemo {
    /// Opens the platform with the users that exist.
    pub(super) fn open(app: &App, seed: u64) -> Result<PracticeDemo> {
        let practice: &Practice<AnyBackend> = opened(app, "practice")?;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut learners = Vec::new();
        for (number, person) in everybody().enumerate() {
            let id = UserId::new(person.id())?;
            let zeal = 8 + (number as u64 * 37 % 93);
            learners.push(Learner { id, person, zeal, random: random.fork() });
        }
        let problems: Vec<ProblemSpec> = serde_json::from_str(PROBLEMS)?;
        let jobs = JobsDemo::new(practice, random.fork());
        Ok(PracticeDemo { practice: practice.clone(), learners, problems, jobs })
    }

    /// Creates users, plans and problems.
    pub(super) async fn create(app: &App, seed: u64) -> Result<PracticeDemo> {
        let demo = PracticeDemo::open(app, seed)?;
        let team = demo.practice.create_plan(team_plan(), OPERATOR).await?.id;
        for (number, learner) in demo.learners.iter().enumerate() {
            let email = Email::new(&format!("{}@learners.example", learner.person.id()))?;
            let plan = match number % 8 {
                0 => PlanId::PRO,
                3 => team,
                5 if number == 5 => PlanId::ADMIN,
                _ => PlanId::FREE,
            };
            let user = NewUser {
                id: Some(learner.id.clone()),
                plan: Some(plan),
                is_staff: plan == PlanId::ADMIN,
                ..NewUser::new(email, learner.person.name())
            };
            demo.practice.create_user(user, OPERATOR).await?;
        }
        for (number, spec) in demo.problems.iter().enumerate() {
            demo.create_problem(number, spec).await?;
        }
        Ok(demo)
    }

    async fn create_problem(&self, number: usize, spec: &ProblemSpec) -> Result<()> {
        let (_, id, title, tags, is_published) = spec;
        let at = problem_ref(spec)?;
        let tags: std::result::Result<Vec<Tag>, _> = tags.iter().map(Tag::new).collect();
        let new = NewProblem {
            tags: tags?,
            url: Some(format!("https://problems.example/{}/{id}", at.platform)),
            language: Some("python".to_owned()),
            solution_code: Some(LANGUAGES.first().map_or("", |(_, code)| code).to_owned()),
            constraints: Some("1 <= n <= 100000, one second, 256 MB".to_owned()),
            is_published: *is_published,
            test_cases: (1..=TEST_CASES).map(|case| test_case(number, case)).collect(),
            ..NewProblem::new(at.clone(), title.clone())
        };
        self.practice.create_problem(new, None, OPERATOR).await?;
        match number % 7 {
            1 | 4 => drop(self.practice.verify_problem(&at, OPERATOR).await?),
            5 => {
                let notes = Some("Test case 3 seems to exceed the constraints".to_owned());
                self.practice.request_review(&at, notes, "noor.malik").await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Records the usage of the hour that ends at `now_ms`.
    pub(super) async fn hour(&mut self, hour: u64, now_ms: i64) -> Result<()> {
        let Self { practice, learners, problems, jobs } = self;
        let (practice, problems) = (&*practice, &*problems);
        let activity = pattern::activity(now_ms, 2);
        let learners = stream::iter(learners.iter_mut()).map(Ok::<_, Failure>);
        let practise = learners.try_for_each_concurrent(AT_ONCE, |learner| async move {
            let average = activity * ACTIONS_MILLI * learner.zeal_on(now_ms) / 100;
            for _ in 0..pattern::count(average, &mut learner.random) {
                learner.practise(practice, problems).await?;
            }
            Ok(())
        });
        practise.await?;
        jobs.hour(hour, problems).await
    }

    /// Brings some users close to their limits of today, and the jobs into every state.
    pub(super) async fn finish(&mut self) -> Result<()> {
        for (number, hints, executions) in [(1, 5, 31), (2, 4, 47), (4, 5, 50), (7, 3, 44)] {
            let Some(learner) = self.learners.get(number) else { continue };
            for (action, count) in [(Action::Hint, hints), (Action::Execution, executions)] {
                for _ in 0..count {
                    self.practice.take_usage(&learner.id, &UsageRequest::new(action)).await?;
                }
            }
        }
        self.jobs.finish(&self.problems).await
    }

    /// One action of some user, or a step of a job.
    pub(super) async fn act(&mut self, random: &mut fastrand::Rng) -> Result<()> {
        let Some(learner) = random.choice(self.learners.iter_mut()) else { return Ok(()) };
        learner.practise(&self.practice, &self.problems).await
    }

    /// A step of the job that is under way.
    pub(super) async fn work(&mut self) -> Result<()> {
        self.jobs.work(&self.problems).await
    }
}

impl Learner {
    /// How keen the user is on a day: nobody practises every day.
    fn zeal_on(&self, at_ms: i64) -> u64 {
        let day = at_ms.div_euclid(DAY_MS).unsigned_abs();
        let mut random = fastrand::Rng::with_seed(day * 1_009 + self.zeal * 31);
        if random.u64(0..100) < 22 + self.zeal / 3 { self.zeal } else { 0 }
    }

    /// Tries a problem: runs code, and sometimes asks for a hint.
    async fn practise(
        &mut self,
        practice: &Practice<AnyBackend>,
        problems: &[ProblemSpec],
    ) -> Result<()> {
        let Some(spec) = self.random.choice(problems) else { return Ok(()) };
        let is_hint = self.random.u64(0..100) < 22;
        let action = if is_hint { Action::Hint } else { Action::Execution };
        let request = UsageRequest {
            problem_id: Some(ProblemId::new(&spec.1)?),
            ..UsageRequest::new(action)
        };
        let answer = practice.take_usage(&self.id, &request).await?;
        if !is_hint && answer.allowed {
            practice.record_run(self.run(spec)?).await?;
        }
        Ok(())
    }

    fn run(&mut self, spec: &ProblemSpec) -> Result<NewRun> {
        let random = &mut self.random;
        let total = u32::try_from(TEST_CASES)?;
        let passed = if random.u64(0..100) < 61 { total } else { random.u32(0..total) };
        let (language, code) = random.choice(LANGUAGES).unwrap_or(("python", ""));
        let time_ms = random.u64(14..900);
        Ok(NewRun {
            user_id: Some(self.id.clone()),
            user_identifier: Some(self.person.name()),
            problem_id: Some(spec.1.clone()),
            problem_title: Some(spec.2.clone()),
            language: Some(language.to_owned()),
            result_summary: json!({"time_ms": time_ms, "memory_kb": random.u64(2_000..64_000)}),
            passed_count: passed,
            failed_count: total - passed,
            total_count: total,
            is_public: random.u64(0..100) < 55,
            ..NewRun::new(Platform::new(&spec.0)?, spec.1.clone(), code.to_owned())
        })
    }
}

/// Platform and id of a problem.
pub(super) fn problem_ref(spec: &ProblemSpec) -> Result<ProblemRef> {
    Ok(ProblemRef { platform: Platform::new(&spec.0)?, id: ProblemId::new(&spec.1)? })
}

fn test_case(problem: usize, number: usize) -> NewTestCase {
    let (a, b) = (problem * 7 + number * number, number * 13 + problem);
    NewTestCase {
        input: format!("{a} {b}\n"),
        output: format!("{}\n", a + b),
        is_sample: number <= 2,
    }
}

fn team_plan() -> PlanFields {
    PlanFields {
        name: "Team".to_owned(),
        description: Some("For classes and clubs".to_owned()),
        max_hints_per_day: PlanLimit::AtMost(20),
        max_executions_per_day: PlanLimit::AtMost(200),
        max_problems: PlanLimit::AtMost(100),
        can_view_all_problems: true,
        can_register_problems: true,
        is_active: true,
    }
}

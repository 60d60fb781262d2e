//! One bucket, hammered: it gives exactly what it has.

use std::time::Duration;

use axum::http::Method;
use serde_json::json;
use weir_table::clock::Clock;

use crate::books::Balance;
use crate::client::{Plan, Work};
use crate::crowd::{Answers, Crowd};
use crate::ground::{Ground, Limit, PROCESSES, RESOURCE};
use crate::wire::Answer;
use crate::{span, tasks, usage};

const ENTITY: &str = "user";
const TASKS: usize = 64;
/// Tokens of the limit that runs short in one request.
const TOKENS: i64 = 3;
/// How often what is left is taken, until it is less than a request.
const ROUNDS_MAX: u32 = 5;
/// Neither refill is a whole number of thousandths a millisecond.
const SHORT: Limit =
    Limit { name: "tpm", capacity: 1_000_000, start: 1_500, refill: 500, period_secs: 7 };
const AMPLE: Limit =
    Limit { name: "rpm", capacity: 1_000_000, start: 500_000, refill: 1_000, period_secs: 3 };

/// The plans of all processes of clients of a run.
pub(crate) fn plans(
    ground: &Ground,
    entities: &[&str],
    work: Work,
    tasks: usize,
    span: Duration,
) -> Vec<Plan> {
    let plan = |process| Plan {
        address_files: ground.address_files(),
        server_index: process % ground.servers(),
        tasks: tasks / PROCESSES,
        span,
        work,
        entities: entities.iter().map(|entity| (*entity).to_owned()).collect(),
        consume: json!({"tpm": TOKENS, "rpm": 1}),
    };
    (0..PROCESSES).map(plan).collect()
}

/// Now, in milliseconds since 1970.
fn now_ms() -> i64 {
    i64::try_from(Clock::System.now_ms()).unwrap()
}

/// What all clients were given.
#[derive(Debug, Default)]
struct Given {
    requests: i64,
    tokens: i64,
    /// Requests of the crowd of which nobody knows.
    lost: i64,
    /// When the last request that was refused had not been sent yet.
    last_refusal_ms: i64,
}

impl Given {
    fn to_crowd(answers: &Answers) -> Given {
        Given {
            requests: answers.grants(),
            tokens: answers.grants() * TOKENS,
            lost: answers.lost(),
            last_refusal_ms: answers.rest.last_refusal_ms,
        }
    }

    /// Takes what is left, from several shards if need be, until there is not enough for one more request.
    fn and_the_rest(mut self, ground: &Ground) -> Given {
        let look = format!("availability?entity={ENTITY}&resource={RESOURCE}");
        for _ in 0..ROUNDS_MAX {
            let response = ground.ask(Method::GET, &look, None);
            let limits = response["limits"].as_array().unwrap();
            let left = limits.iter().find(|limit| limit["name"] == "tpm").unwrap();
            let left = left["available"].as_i64().unwrap();
            if (left <= 0 || self.took(ground, left)) && !self.took(ground, TOKENS) {
                return self;
            }
        }
        // A store that is slower than the refill is never asked for too much.
        self
    }

    fn took(&mut self, ground: &Ground, tokens: i64) -> bool {
        let before_ms = now_ms();
        let consume = json!({"tpm": tokens, "rpm": 1});
        let ask = json!({"entity": ENTITY, "resource": RESOURCE, "consume": consume});
        match ground.try_ask(Method::POST, "acquire", Some(&ask)) {
            Answer::Response(200, _) => {
                self.requests += 1;
                self.tokens += tokens;
                true
            }
            Answer::Response(429, _) => {
                if tokens == TOKENS {
                    self.last_refusal_ms = before_ms;
                }
                false
            }
            other => panic!("{other:?}"),
        }
    }
}

fn hammer(ground: &Ground, short: Limit, usual: Duration) {
    ground.prepare(ENTITY, &[short, AMPLE]);
    let before = ground.shards(ENTITY);
    let span = span(usual);
    let crowd = Crowd::start(plans(ground, &[ENTITY], Work::Take, tasks(TASKS), span));
    // On DynamoDB the bucket is split while they take: into two, four and eight.
    for _ in 0..3 {
        std::thread::sleep(span / 5);
        ground.heat(ENTITY);
    }
    let answers = crowd.end();
    assert_eq!(answers.rest.odd, [""; 0]);
    assert!(answers.grants() > 0, "nothing was granted");
    answers.check_unharmed(ground);
    let given = Given::to_crowd(&answers).and_the_rest(ground);
    let ended_ms = now_ms();
    let after = ground.shards(ENTITY);
    let books = |limit| [&before, &after].map(|shards| Balance::of(shards, limit));
    let per_request = [(short.name, given.tokens, TOKENS), (AMPLE.name, given.requests, 1)];
    for (limit, granted, tokens) in per_request {
        let [opening, closing] = books(limit);
        closing.check(&opening);
        let consumed = closing.consumed_since(&opening);
        let most = granted + given.lost * tokens;
        assert!((granted..=most).contains(&consumed), "{consumed} of {limit}: {granted}..={most}");
    }
    let [opening, closing] = books(short.name);
    check_bounds(&opening, &closing, &given, ended_ms);
    eprintln!(
        "{} refused, {} contended, {} lost",
        answers.rest.refused, answers.rest.contended, given.lost
    );
    if ground.is_sharded() {
        // A store that does not answer does not split either.
        assert!(closing.shards >= 4 || given.lost > 0, "{} shards", closing.shards);
    }
    for name in [short.name, AMPLE.name] {
        usage::check(ground, ENTITY, name, Balance::of(&after, name).consumed_in_all());
    }
}

/// Never more than there can have been until the end, and no less than there was when somebody was last refused, but for
/// a request that no shard could serve alone.
fn check_bounds(opening: &Balance, closing: &Balance, given: &Given, ended_ms: i64) {
    let granted = opening.to_parts(given.tokens);
    let most = opening.until(ended_ms);
    assert!(granted <= most, "granted {granted} parts of {most}");
    let shards = i64::try_from(closing.shards).unwrap();
    let slack = opening.to_parts(TOKENS * (shards + given.lost));
    let short = match given.last_refusal_ms {
        0 => "never refused".to_owned(),
        last_ms => {
            let short_of = opening.until(last_ms) - granted;
            assert!(short_of < slack, "{short_of} parts were not granted");
            format!("short of {:.3} at the last refusal", opening.to_tokens(short_of))
        }
    };
    eprintln!(
        "{} tokens granted in {} requests, of {:.3} that were there and came in; {short}; {shards} shards",
        given.tokens,
        given.requests,
        opening.to_tokens(most),
    );
}

#[test]
fn four_processes_take_what_is_there_and_no_more_embedded() {
    let short = Limit { refill: 1_000, start: 6_000, ..SHORT };
    hammer(&Ground::embedded(), short, Duration::from_secs(10));
}

#[test]
fn four_processes_take_what_is_there_and_no_more_dynamodb_local() {
    hammer(&Ground::dynamodb_local(), SHORT, Duration::from_secs(10));
}

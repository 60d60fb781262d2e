//! Two children and the parent who pays too, while servers and clients are killed.
//!
//! A request that was not answered may have been granted or not; on DynamoDB it may have been paid by one of the two
//! alone. Nothing else may set them apart.

use std::time::Duration;

use axum::http::Method;
use serde_json::json;

use crate::books::Balance;
use crate::client::Work;
use crate::crowd::Crowd;
use crate::ground::{Ground, Limit};
use crate::one_bucket::plans;
use crate::{Kills, span, tasks, usage};

const PARENT: &str = "team";
const CHILDREN: [&str; 2] = ["anna", "ben"];
const TASKS: usize = 64;
const TOKENS: i64 = 3;
/// Tokens that a child begins with; the parent runs short first.
const CHILD: Limit =
    Limit { name: "tpm", capacity: 1_000_000, start: 20_000, refill: 7_000, period_secs: 7 };
const CHILD_REQUESTS: Limit =
    Limit { name: "rpm", capacity: 1_000_000, start: 500_000, refill: 1_000, period_secs: 3 };

fn prepare(ground: &Ground) {
    // Streams of DynamoDB Local spoil empty maps, so nobody's metadata is empty.
    let team = json!({"name": PARENT, "metadata": {"plan": "pro"}});
    ground.ask(Method::PUT, &format!("entities/{PARENT}"), Some(&team));
    // What both children take first is taken from it too.
    let whole = |of: Limit, start| Limit {
        capacity: 2 * (of.capacity - of.start) + start,
        refill: of.refill / 5,
        ..of
    };
    ground.limit(PARENT, &[whole(CHILD, 1_500), whole(CHILD_REQUESTS, 500_000)]);
    for child in CHILDREN {
        let entity = json!({"name": child, "parent": PARENT, "cascade": true,
            "metadata": {"plan": "pro"}});
        ground.ask(Method::PUT, &format!("entities/{child}"), Some(&entity));
        ground.prepare(child, &[CHILD, CHILD_REQUESTS]);
    }
}

fn share(ground: &mut Ground, kills: Kills, usual: Duration) {
    prepare(ground);
    let everybody = [CHILDREN[0], CHILDREN[1], PARENT];
    let before = everybody.map(|entity| ground.shards(entity));
    let span = span(usual);
    let mut crowd = Crowd::start(plans(ground, &CHILDREN, Work::Take, tasks(TASKS), span));
    for (turn, entity) in [PARENT, CHILDREN[0], PARENT].into_iter().enumerate() {
        std::thread::sleep(span.mul_f64(0.15 + 0.1 * fastrand::f64()));
        ground.heat(entity);
        match (kills, turn) {
            (Kills::Some, 0 | 2) => ground.restart(fastrand::usize(..ground.servers())),
            (Kills::Some, _) => crowd.kill(fastrand::usize(..crate::ground::PROCESSES)),
            (Kills::None, _) => {}
        }
    }
    let answers = crowd.end();
    let lost = answers.lost();
    assert_eq!(answers.rest.odd, [""; 0]);
    assert!(answers.grants() > 0, "nothing was granted");
    if kills == Kills::None {
        answers.check_unharmed(ground);
    }
    let after = everybody.map(|entity| ground.shards(entity));
    let mut shards = [0; 3];
    for (limit, tokens) in [("tpm", TOKENS), ("rpm", 1)] {
        let mut consumed = [0; 3];
        for place in 0..3 {
            let [opening, closing] = [&before, &after].map(|all| Balance::of(&all[place], limit));
            closing.check(&opening);
            shards[place] = closing.shards;
            consumed[place] = closing.consumed_since(&opening);
            let granted = match answers.granted.get(everybody[place]) {
                None => answers.grants(),
                Some(grants) => *grants,
            };
            let (least, most) = (granted * tokens, (granted + lost) * tokens);
            assert!((least..=most).contains(&consumed[place]), "{consumed:?}: {least}..={most}");
        }
        let [anna, ben, team] = consumed;
        if !ground.is_sharded() {
            assert_eq!(anna + ben, team, "one transaction takes from both");
        }
        assert!((anna + ben - team).abs() <= lost * tokens, "{consumed:?}, {lost} lost");
        if limit == "tpm" {
            eprintln!(
                "{} tokens granted in {} requests, {} and {} consumed by the children, {} by the parent; {lost} requests \
                 lost, {} refused, {} contended; {shards:?} shards",
                answers.grants() * tokens,
                answers.grants(),
                anna,
                ben,
                team,
                answers.rest.refused,
                answers.rest.contended,
            );
        }
    }
    for (entity, shards) in everybody.iter().zip(&after) {
        for limit in ["tpm", "rpm"] {
            usage::check(ground, entity, limit, Balance::of(shards, limit).consumed_in_all());
        }
    }
}

#[test]
fn children_and_parent_pay_the_same_embedded() {
    share(&mut Ground::embedded(), Kills::None, Duration::from_secs(5));
}

#[test]
fn children_and_parent_pay_the_same_dynamodb_local() {
    share(&mut Ground::dynamodb_local(), Kills::None, Duration::from_secs(5));
}

#[test]
fn children_and_parent_pay_the_same_through_kills_embedded() {
    share(&mut Ground::embedded(), Kills::Some, Duration::from_secs(6));
}

#[test]
fn children_and_parent_are_apart_by_what_was_lost_in_kills_dynamodb_local() {
    share(&mut Ground::dynamodb_local(), Kills::Some, Duration::from_secs(6));
}

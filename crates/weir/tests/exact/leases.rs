//! Leases, settled in all ways there are, every call made twice, with servers killed and not: what is consumed is what the
//! leases hold.

use std::time::Duration;

use crate::books::Balance;
use crate::client::Work;
use crate::crowd::Crowd;
use crate::ground::{Ground, Limit};
use crate::one_bucket::plans;
use crate::{Kills, span, tasks, usage};

const ENTITY: &str = "user";
const TASKS: usize = 32;
const TOKENS: i64 = 3;
/// Small, so that what is given back often finds the bucket full.
const SMALL: Limit = Limit { name: "tpm", capacity: 120, start: 60, refill: 300, period_secs: 1 };
const AMPLE: Limit =
    Limit { name: "rpm", capacity: 1_000_000, start: 500_000, refill: 1_000, period_secs: 3 };

fn settle(ground: &mut Ground, kills: Kills, usual: Duration) {
    ground.prepare(ENTITY, &[SMALL, AMPLE]);
    let opening = Balance::of(&ground.shards(ENTITY), "tpm");
    let span = span(usual);
    let crowd = Crowd::start(plans(ground, &[ENTITY], Work::Lease, tasks(TASKS), span));
    for _ in 0..2 {
        std::thread::sleep(span.mul_f64(0.2 + 0.1 * fastrand::f64()));
        ground.heat(ENTITY);
        ground.check_capacity(ENTITY);
        if kills == Kills::Some {
            ground.restart(fastrand::usize(..ground.servers()));
        }
    }
    let answers = crowd.end();
    assert_eq!(answers.rest.odd, [""; 0]);
    assert!(answers.leases > 0, "no lease was settled");
    if kills == Kills::None {
        answers.check_unharmed(ground);
    }
    let shards = ground.shards(ENTITY);
    let closing = Balance::of(&shards, "tpm");
    let consumed = closing.consumed_since(&opening);
    let most = answers.net + answers.lost() * TOKENS;
    assert!((answers.net..=most).contains(&consumed), "{consumed} of {answers:?}");
    assert_eq!((consumed - answers.net) % TOKENS, 0, "lost acquires are whole");
    eprintln!(
        "{} leases hold {} tokens, {consumed} consumed; {} settles answered, {} acquires lost, {} refused, {} contended; \
         {} shards",
        answers.leases,
        answers.net,
        answers.rest.settles,
        answers.lost(),
        answers.rest.refused,
        answers.rest.contended,
        closing.shards,
    );
    // A lease's item has empty maps, which streams of DynamoDB Local spoil: there the feed stops at the first one.
    if !ground.is_sharded() {
        usage::check(ground, ENTITY, "tpm", closing.consumed_in_all());
    }
}

#[test]
fn leases_hold_what_is_consumed_embedded() {
    settle(&mut Ground::embedded(), Kills::None, Duration::from_secs(3));
}

#[test]
fn leases_settled_through_kills_count_once_embedded() {
    settle(&mut Ground::embedded(), Kills::Some, Duration::from_secs(6));
}

#[test]
fn leases_settled_through_kills_count_once_dynamodb_local() {
    settle(&mut Ground::dynamodb_local(), Kills::Some, Duration::from_secs(6));
}

//! Clocks that are ahead, behind, and jump.

use weir_practice::Practice;
use weir_practice::jobs::JobRef;
use weir_practice::keys::List;
use weir_practice::kinds::JobStatus;
use weir_practice::list::PageRequest;
use weir_table::clock::Clock;
use weir_testkit::eventually_eq;

use super::samples::{LEASE_MS, SCRIPT, YEAR_MS, generated, worker};
use crate::scene::{NOW_MS, Scene, Watched};

scenes!(
    a_live_worker_keeps_its_job_whatever_other_clocks_say,
    a_dead_worker_loses_its_job_after_one_lease_by_any_clock,
    a_clock_that_jumps_takes_no_job,
    the_next_job_is_one_whose_worker_is_gone,
    stalled_jobs_are_listed,
);

const DIFFERENCES_MS: [i64; 7] = [0, 10_000, -10_000, 90_000, -90_000, YEAR_MS, -YEAR_MS];

/// A worker of another process, which tries to claim a job.
struct Other {
    practice: Practice<Watched>,
    clock: Clock,
}

impl Other {
    fn new(scene: &Scene, differs_ms: i64) -> Other {
        let (practice, clock) = scene.process(differs_ms);
        Other { practice, clock }
    }

    async fn claims(&self, job: &JobRef) -> bool {
        self.practice.claim_job(job, &worker("other")).await.is_ok()
    }
}

async fn a_live_worker_keeps_its_job_whatever_other_clocks_say(scene: &Scene) {
    for (number, differs_ms) in DIFFERENCES_MS.into_iter().enumerate() {
        let job = scene.submit(&number.to_string()).await;
        let own = scene.practice.claim_job(&job, &worker("own")).await.unwrap().lease;
        let other = Other::new(scene, differs_ms);
        for _ in 0..6 {
            assert!(!other.claims(&job).await, "{differs_ms}");
            for _ in 0..2 {
                scene.clock.advance_ms(LEASE_MS / 3);
                other.clock.advance_ms(LEASE_MS / 3);
                assert!(!other.claims(&job).await, "{differs_ms}");
            }
            let lease = scene.practice.heartbeat_job(&job, own.fence, None).await.unwrap();
            assert_eq!(lease.until_ms, scene.practice.now_ms() + 60_000);
        }
        scene.practice.complete_job(&job, own.fence, &generated()).await.unwrap();
    }
}

async fn a_dead_worker_loses_its_job_after_one_lease_by_any_clock(scene: &Scene) {
    for (number, differs_ms) in DIFFERENCES_MS.into_iter().enumerate() {
        let job = scene.submit(&number.to_string()).await;
        let own = scene.practice.claim_job(&job, &worker("own")).await.unwrap().lease;
        let other = Other::new(scene, differs_ms);
        let mut passed_ms = 0;
        while !other.claims(&job).await {
            other.clock.advance_ms(LEASE_MS / 4);
            passed_ms += LEASE_MS / 4;
            assert!(passed_ms <= 2 * LEASE_MS, "{differs_ms}");
        }
        assert_eq!(passed_ms, LEASE_MS, "{differs_ms}");
        let late = scene.practice.complete_job(&job, own.fence, &generated()).await.unwrap_err();
        assert!(late.to_string().contains("no longer holds"), "{late}");
        other.practice.complete_job(&job, own.fence + 1, &generated()).await.unwrap();
    }
}

async fn a_clock_that_jumps_takes_no_job(scene: &Scene) {
    let job = scene.submit("1").await;
    let own = scene.practice.claim_job(&job, &worker("own")).await.unwrap().lease;
    // The worker lives, and the clock of the other process jumps ahead by a year, or back.
    let other = Other::new(scene, 0);
    assert!(!other.claims(&job).await);
    other.clock.advance_ms(YEAR_MS.unsigned_abs());
    assert!(!other.claims(&job).await);
    scene.practice.heartbeat_job(&job, own.fence, None).await.unwrap();
    assert!(!other.claims(&job).await);
    let back = Clock::manual(0);
    let store = scene.store.clone();
    let none = weir_practice::objects::Objects::unavailable();
    let far_back = Practice::new(store, none, back, weir_practice::Settings::default()).unwrap();
    assert!(far_back.claim_job(&job, &worker("other")).await.is_err());
    // The clock of the server that takes heartbeats jumps: the lease goes on, and the fencing number grows.
    scene.clock.advance_ms(YEAR_MS.unsigned_abs());
    let lease = scene.practice.heartbeat_job(&job, own.fence, None).await.unwrap();
    assert_eq!(lease.until_ms, NOW_MS + YEAR_MS + 60_000);
    assert!(!other.claims(&job).await);
    for _ in 0..2 {
        other.clock.advance_ms(LEASE_MS / 2);
    }
    assert!(!other.claims(&job).await, "one read counts for half a lease");
    other.clock.advance_ms(LEASE_MS / 2);
    let claimed = other.practice.claim_job(&job, &worker("other")).await.unwrap();
    assert_eq!(claimed.lease.fence, own.fence + 1);
}

async fn the_next_job_is_one_whose_worker_is_gone(scene: &Scene) {
    let lost = scene.submit("1").await;
    let own = scene.practice.claim_job(&lost, &worker("own")).await.unwrap().lease;
    scene.clock.advance_ms(1_000);
    scene.submit("2").await;
    scene.listed(List::JobLeases(SCRIPT), 1).await;
    scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Pending), 1).await;

    let other = Other::new(scene, -YEAR_MS);
    for part in 0..4 {
        assert_eq!(other.practice.observe_leases(SCRIPT).await.unwrap(), 0, "{part}");
        other.clock.advance_ms(LEASE_MS / 4);
    }
    assert_eq!(other.practice.observe_leases(SCRIPT).await.unwrap(), 1);
    scene.watch.reset();
    let claimed = other.practice.claim_next_job(SCRIPT, &worker("other")).await.unwrap().unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.batch_gets, calls.writes, calls.queries), (2, 1, 0));
    assert_eq!((claimed.job.summary.job, claimed.lease.fence), (lost.clone(), own.fence + 1));
    assert_eq!(claimed.job.summary.status, JobStatus::Processing);
    let next = other.practice.claim_next_job(SCRIPT, &worker("other")).await.unwrap().unwrap();
    assert_eq!(next.job.summary.job.id.as_str(), "2");
    for late in [
        scene.practice.heartbeat_job(&lost, own.fence, None).await.unwrap_err(),
        scene.practice.fail_job(&lost, own.fence, "late").await.unwrap_err(),
    ] {
        assert!(late.is_conflict(), "{late}");
    }
    assert_eq!(scene.practice.job(&lost).await.unwrap().summary.lease, Some(claimed.lease));
}

async fn stalled_jobs_are_listed(scene: &Scene) {
    let practice = &scene.practice;
    let (first, second) = (scene.submit("1").await, scene.submit("2").await);
    let fence = practice.claim_job(&first, &worker("own")).await.unwrap().lease.fence;
    scene.clock.advance_ms(LEASE_MS / 2);
    practice.claim_job(&second, &worker("own")).await.unwrap();
    let stalled = async || {
        let listed = practice.stalled_jobs(SCRIPT, &PageRequest::default()).await.unwrap();
        listed.items.into_iter().map(|job| job.job.id.as_str().to_owned()).collect::<Vec<_>>()
    };
    scene.listed(List::JobLeases(SCRIPT), 2).await;
    assert!(stalled().await.is_empty());
    scene.clock.advance_ms(LEASE_MS / 2);
    assert_eq!(stalled().await, ["1"]);
    scene.clock.advance_ms(LEASE_MS / 2);
    assert_eq!(stalled().await, ["1", "2"]);
    practice.complete_job(&first, fence, &generated()).await.unwrap();
    eventually_eq(vec!["2".to_owned()], stalled).await;
}

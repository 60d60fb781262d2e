//! Many workers and few jobs; workers that die.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weir_practice::jobs::{Claimed, JobRef};
use weir_practice::keys::List;
use weir_practice::kinds::JobStatus;
use weir_practice::{Error, Practice, Settings};
use weir_table::clock::Clock;

use super::samples::{LEASE_MS, SCRIPT, at_once, generated, worker};
use crate::scene::{Scene, Watched};

scenes!(
    of_many_workers_one_claims_a_job,
    of_many_workers_each_claims_another_job,
    an_ended_job_is_not_taken_over,
    every_job_completes_once_although_workers_die,
    a_queue_with_nothing_to_do_is_cheap,
    a_claim_counts_its_calls,
);

async fn of_many_workers_one_claims_a_job(scene: &Scene) {
    for (id, workers) in [("1", 2), ("2", 20)] {
        let job = scene.submit(id).await;
        scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Pending), 1).await;
        let claims = at_once(workers, |number| {
            let (practice, job) = (scene.process(0).0, job.clone());
            async move {
                let claim = worker(&format!("w-{number}"));
                match number % 2 {
                    0 => practice.claim_next_job(SCRIPT, &claim).await.unwrap(),
                    _ => match practice.claim_job(&job, &claim).await {
                        Ok(claimed) => Some(claimed),
                        Err(Error::Conflict(_)) => None,
                        Err(error) => panic!("{error}"),
                    },
                }
            }
        })
        .await;
        let won: Vec<Claimed> = claims.into_iter().flatten().collect();
        assert_eq!(won.len(), 1, "{won:?}");
        assert_eq!(won[0].lease.fence, 1);
        scene.practice.complete_job(&job, 1, &generated()).await.unwrap();
        scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Pending), 0).await;
    }
}

async fn of_many_workers_each_claims_another_job(scene: &Scene) {
    for number in 0..20 {
        scene.submit(&number.to_string()).await;
    }
    scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Pending), 20).await;
    let claims =
        at_once(20, |number| {
            let practice = scene.process(0).0;
            async move {
                practice.claim_next_job(SCRIPT, &worker(&format!("w-{number}"))).await.unwrap()
            }
        })
        .await;
    let ids: std::collections::BTreeSet<_> =
        claims.into_iter().map(|claimed| claimed.unwrap().job.summary.job.id).collect();
    assert_eq!(ids.len(), 20, "a busy queue has a job for each");
}

async fn an_ended_job_is_not_taken_over(scene: &Scene) {
    let first = scene.submit("1").await;
    scene.practice.claim_job(&first, &worker("a")).await.unwrap();
    // One that the program of the source processes: it has no lease.
    let second = scene.submit("2").await;
    scene.set_status(&second, JobStatus::Processing).await;
    for job in [first, second] {
        let (other, clock) = scene.process(0);
        for _ in 0..2 {
            other.claim_job(&job, &worker("b")).await.unwrap_err();
            clock.advance_ms(LEASE_MS / 2);
        }
        // It has seen that the lease is over, and is held back until the job has ended.
        let hold = scene.watch.hold();
        let late = async {
            clock.advance_ms(LEASE_MS / 2);
            other.claim_job(&job, &worker("b")).await
        };
        let end = async {
            hold.is_held().await;
            match job.id.as_str() {
                "1" => drop(scene.practice.complete_job(&job, 1, &generated()).await.unwrap()),
                _ => scene.set_status(&job, JobStatus::Completed).await,
            }
            hold.go_on();
        };
        let (late, ()) = tokio::join!(late, end);
        assert!(matches!(late, Err(Error::Conflict(_))), "{late:?}");
        assert_eq!(scene.practice.job(&job).await.unwrap().summary.lease, None);
    }
}

/// Jobs that a process completed, by how often.
type Completed = Arc<parking_lot::Mutex<BTreeMap<JobRef, usize>>>;

/// A worker that dies at random after a claim, and comes back as another; late, it tries to complete what it had.
async fn work(
    practice: Practice<Watched>,
    clock: Clock,
    name: usize,
    done: Completed,
    jobs: usize,
) {
    let mut lost: Vec<Claimed> = Vec::new();
    for life in 0..10_000 {
        if done.lock().len() == jobs {
            return;
        }
        let claim = worker(&format!("w-{name}-{life}"));
        let Some(claimed) = practice.claim_next_job(SCRIPT, &claim).await.unwrap() else {
            // Every clock runs at its own speed.
            clock.advance_ms(fastrand::u64(LEASE_MS / 4..LEASE_MS));
            tokio::time::sleep(Duration::from_millis(3)).await;
            continue;
        };
        if fastrand::u32(0..10) < 3 {
            lost.push(claimed);
            continue;
        }
        for claimed in lost.drain(..).filter(|_| fastrand::bool()).chain([claimed]) {
            let job = &claimed.job.summary.job;
            match practice.complete_job(job, claimed.lease.fence, &generated()).await {
                Ok(_) => *done.lock().entry(job.clone()).or_default() += 1,
                Err(Error::LeaseLost { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    panic!("{} of {jobs} jobs were completed", done.lock().len());
}

async fn every_job_completes_once_although_workers_die(scene: &Scene) {
    const JOBS: usize = 100;
    for number in 0..JOBS {
        scene.submit(&number.to_string()).await;
    }
    let done = Completed::default();
    let clocks = [0, 1, -1, 30_000, -30_000, 3_600_000, -3_600_000, 86_400_000];
    at_once(clocks.len(), |number| {
        // However often a job is abandoned, it is claimed again.
        let settings = Settings { job_attempts_max: 1_000, ..Settings::default() };
        let (practice, clock) = scene.process_with(clocks[number], settings);
        work(practice, clock, number, Arc::clone(&done), JOBS)
    })
    .await;
    let done = done.lock().clone();
    assert!(done.values().all(|times| *times == 1), "{done:?}");
    scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Completed), JOBS).await;
    scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Pending), 0).await;
    scene.listed(List::JobLeases(SCRIPT), 0).await;
}

async fn a_queue_with_nothing_to_do_is_cheap(scene: &Scene) {
    for calls in [2, 1] {
        assert_eq!(scene.practice.claim_next_job(SCRIPT, &worker("w")).await.unwrap(), None);
        assert_eq!(scene.watch.take_reads(), calls, "leases are read at intervals");
    }
}

async fn a_claim_counts_its_calls(scene: &Scene) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let job = scene.submit(&NUMBER.fetch_add(1, Ordering::SeqCst).to_string()).await;
    scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Pending), 1).await;
    scene.watch.reset();
    scene.practice.claim_next_job(SCRIPT, &worker("w")).await.unwrap().unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.queries, calls.batch_gets, calls.transactions), (2, 2, 1));
    assert_eq!((calls.gets, calls.writes), (0, 0));
    scene.practice.fail_job(&job, 1, "it broke").await.unwrap();
    scene.practice.retry_job(&job, "ann").await.unwrap();
    scene.watch.reset();
    let claimed = scene.practice.claim_job(&job, &worker("w")).await.unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.batch_gets, calls.transactions, claimed.lease.fence), (1, 1, 2));
}

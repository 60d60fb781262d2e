//! Jobs and task results.

use weir_testkit::ledger::Ledger;

use super::month::{JOB_STEPS, Stored};
use super::{FIRST_PAGE, table_bytes};
use crate::jobs::samples::{SCRIPT, generated, new_script, script, step, worker};
use crate::scene::Scene;
use crate::tasks::{result, task};

pub(super) async fn measure(scene: &Scene, ledger: &mut Ledger<'_>, stored: &mut Stored) {
    let (practice, job) = (&scene.practice, script("1"));
    let before = table_bytes(scene).await;
    ledger.note("a job submitted", practice.submit_job(SCRIPT, &new_script("1"))).await.unwrap();
    let by = worker("w1");
    let claim = practice.claim_next_job(SCRIPT, &by);
    let claimed = ledger.note("the next job claimed", claim).await.unwrap().unwrap();
    let fence = claimed.lease.fence;
    ledger.note("heartbeat", practice.heartbeat_job(&job, fence, None)).await.unwrap();
    let first = step("generate");
    let report = practice.report_progress(&job, fence, &first);
    ledger.note("a progress step", report).await.unwrap();
    for number in 1..JOB_STEPS {
        let step = step(&format!("step-{number}"));
        practice.report_progress(&job, fence, &step).await.unwrap();
    }
    let completion = generated();
    let complete = practice.complete_job(&job, fence, &completion);
    ledger.note("a job completed", complete).await.unwrap();
    stored.job = table_bytes(scene).await - before;
    ledger.note("a job", practice.job(&job)).await.unwrap();
    ledger.note("progress, 5 steps", practice.progress(&job, &FIRST_PAGE)).await.unwrap();
    let before = table_bytes(scene).await;
    let (task, result) = (task(), result("SUCCESS"));
    practice.put_task_result(&task, &result).await.unwrap();
    stored.task = table_bytes(scene).await - before;
    let again = practice.put_task_result(&task, &result);
    ledger.note("a task result stored", again).await.unwrap();
    ledger.note("a task result", practice.task_result(&task)).await.unwrap();
}

//! Recording a whole review in one call.

use weir_reviews::Error;
use weir_reviews::record::{NewConsensus, NewReview};
use weir_reviews::review::{Member, ReviewStatus};

use crate::samples::{finding_id, id, model, response, review, user, with_feedback, with_raws};
use crate::scene::{NOW_MS, Scene};

scenes!(
    a_review_is_recorded_whole,
    the_same_again_changes_nothing,
    other_content_is_refused,
    replacing_removes_what_is_no_longer_there,
    replacing_moves_a_review_in_time,
    feedback_stays_when_a_finding_does,
    a_large_review_is_recorded_whole,
    a_review_of_large_texts_is_recorded_whole,
    a_sent_consensus_is_stored,
    bad_input_writes_nothing,
    an_empty_review_is_recorded,
    the_time_of_the_first_attempt_stays,
);

const MODELS: [&str; 3] = ["gpt-5", "meta/llama:70b", "anthropic.claude-sonnet-4:v1"];

async fn a_review_is_recorded_whole(scene: &Scene) {
    let recorded = scene.reviews.record(review("r-1", &MODELS, 4), false).await.unwrap();
    assert!(recorded.changed);
    let calls = scene.watch.calls();
    assert_eq!((calls.gets, calls.transactions, calls.queries, calls.writes), (1, 2, 0, 0));
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!(seen.review, recorded.review);
    assert_eq!(scene.reviews.get(&id("r-1")).await.unwrap(), recorded.review);
    assert_eq!(seen.review.created_at_ms, NOW_MS);
    assert_eq!(seen.review.total_cost.to_string(), "0.026700");
    assert_eq!((seen.findings.len(), seen.consensus.len()), (12, 4));
    assert_eq!(seen.review.pull_request.files.len(), 2);
    // Review, summary, lookup, files; three responses with costs; findings and consensus.
    assert_eq!(scene.items().await.len(), 4 + 6 + 12 + 4);
    let ttls = scene.items().await;
    for item in &ttls {
        let days = match item.s("entity_type") {
            Some("COST_METRIC") => 365,
            // The summary counts from the end of its day.
            Some("REVIEW_SUMMARY") => continue,
            _ => 90,
        };
        assert_eq!(item.i64("ttl"), Some(NOW_MS / 1000 + days * 86_400), "{item:?}");
    }
}

async fn the_same_again_changes_nothing(scene: &Scene) {
    let new = with_raws(review("r-1", &MODELS, 4));
    scene.reviews.record(new.clone(), false).await.unwrap();
    let (items, raws) = (scene.items().await, scene.raws().await);
    scene.clock.advance_ms(5_000);
    let mut shuffled = new.clone();
    shuffled.responses.reverse();
    shuffled.responses.iter_mut().for_each(|response| response.findings.reverse());
    for (again, replace) in [(new.clone(), false), (new, true), (shuffled, false)] {
        assert!(!scene.reviews.record(again, replace).await.unwrap().changed);
    }
    assert_eq!((scene.items().await, scene.raws().await), (items, raws));
}

async fn other_content_is_refused(scene: &Scene) {
    scene.reviews.record(review("r-1", &MODELS, 4), false).await.unwrap();
    let items = scene.items().await;
    let other = review("r-1", &MODELS, 3);
    let refused = scene.reviews.record(other, false).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    let mut elsewhere = review("r-1", &MODELS, 4);
    elsewhere.head.pull_request.number = 7;
    let refused = scene.reviews.record(elsewhere, true).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    assert_eq!(scene.items().await, items);
}

async fn replacing_removes_what_is_no_longer_there(scene: &Scene) {
    let new = with_raws(review("r-2", &["gpt-5", "llama"], 2));
    scene.reviews.record(new.clone(), false).await.unwrap();
    let (fresh, fresh_raws) = (scene.keys().await, scene.raws().await.len());
    scene.reviews.delete(&id("r-2")).await.unwrap();
    let old = with_raws(review("r-2", &MODELS, 9));
    scene.reviews.record(old, false).await.unwrap();
    assert!(scene.reviews.record(new.clone(), true).await.unwrap().changed);
    assert_eq!(scene.keys().await, fresh);
    assert_eq!((scene.raws().await.len(), scene.expiries().await), (fresh_raws, fresh_raws));
    let seen = scene.seen("r-2").await.unwrap();
    assert_eq!(seen.review.status, ReviewStatus::Completed);
    assert_eq!(seen.findings.len(), 4);
    let raw = scene.reviews.raw(&id("r-2"), &model("llama")).await.unwrap();
    assert_eq!(Some(raw), new.responses[1].raw);
}

async fn replacing_moves_a_review_in_time(scene: &Scene) {
    scene.reviews.record(review("r-1", &MODELS, 2), false).await.unwrap();
    let count = scene.items().await.len();
    let mut moved = review("r-1", &MODELS, 2);
    moved.head.created_at_ms = Some(NOW_MS - 86_400_000);
    scene.reviews.record(moved, true).await.unwrap();
    assert_eq!(scene.items().await.len(), count, "nothing is left of the old time");
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!(seen.review.created_at_ms, NOW_MS - 86_400_000);
    let costs = scene.items().await;
    let costs = costs.iter().filter(|item| item.s("entity_type") == Some("COST_METRIC"));
    assert!(costs.into_iter().all(|item| item.s("SK").unwrap().starts_with("COST#2037-01-22T")));
}

async fn feedback_stays_when_a_finding_does(scene: &Scene) {
    scene.reviews.record(review("r-1", &MODELS, 2), false).await.unwrap();
    for number in ["f-0000", "f-0001"] {
        let (of, finding) = (model("gpt-5"), finding_id(number));
        scene.reviews.feedback(&id("r-1"), &of, &finding, true, &user("ann")).await.unwrap();
    }
    let mut changed = review("r-1", &MODELS, 3);
    changed.responses[0].findings[0].title = "Another issue".to_owned();
    scene.reviews.record(changed, true).await.unwrap();
    let seen = scene.seen("r-1").await.unwrap();
    let kept = with_feedback(&seen);
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].finding.id.as_str(), "f-0001");
}

async fn a_large_review_is_recorded_whole(scene: &Scene) {
    let models: Vec<String> = (0..20).map(|number| format!("model-{number}")).collect();
    let models: Vec<&str> = models.iter().map(String::as_str).collect();
    let new = review("r-1", &models, 100);
    scene.watch.reset();
    scene.reviews.record(new, false).await.unwrap();
    let transactions = scene.watch.calls().transactions;
    // 2 000 findings, 100 consensus items, 40 of responses and costs, and the files.
    assert_eq!(transactions, 2_141_u64.div_ceil(99) + 1);
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!((seen.findings.len(), seen.consensus.len()), (2_000, 100));
    scene.reviews.record(review("r-1", &models[..2], 1), true).await.unwrap();
    // Review, summary, lookup, files, two responses with costs, two findings, one consensus.
    assert_eq!(scene.items().await.len(), 4 + 4 + 2 + 1);
    scene.reviews.delete(&id("r-1")).await.unwrap();
    assert!(scene.items().await.is_empty());
}

async fn a_review_of_large_texts_is_recorded_whole(scene: &Scene) {
    let mut new = review("r-1", &["gpt-5", "llama"], 40);
    for finding in new.responses.iter_mut().flat_map(|response| &mut response.findings) {
        finding.description = "d".repeat(64 * 1024);
        finding.suggestion = Some("s".repeat(60 * 1024));
    }
    scene.reviews.record(new, false).await.unwrap();
    assert_eq!(scene.seen("r-1").await.unwrap().findings.len(), 80);
}

async fn a_sent_consensus_is_stored(scene: &Scene) {
    let member = |of: &str, number: &str| Member { model: model(of), finding: finding_id(number) };
    let mut new = review("r-1", &["gpt-5", "llama"], 3);
    new.consensus = Some(vec![NewConsensus {
        id: weir_reviews::ids::ConsensusId::new("mine").unwrap(),
        members: vec![member("llama", "f-0002"), member("gpt-5", "f-0000")],
        severity: weir_reviews::finding::Severity::Low,
        category: None,
        file_path: "src/file0.rs".to_owned(),
        line_start: 1,
        line_end: 23,
        title: "Mine".to_owned(),
        merged_description: "Both.".to_owned(),
    }]);
    scene.reviews.record(new, false).await.unwrap();
    let seen = scene.seen("r-1").await.unwrap();
    assert_eq!(seen.consensus.len(), 1);
    assert_eq!(seen.consensus[0].agreeing_models, [model("gpt-5"), model("llama")]);
    assert_eq!(seen.consensus[0].models_asked, 2);
    let marked: Vec<_> = seen.findings.iter().filter(|found| found.in_consensus).collect();
    assert_eq!(marked.len(), 2);
}

async fn bad_input_writes_nothing(scene: &Scene) {
    let wrongs: [fn(&mut NewReview); 5] = [
        |new| new.responses[0].findings[1].line_end = 1,
        |new| new.responses[1] = new.responses[0].clone(),
        |new| new.responses[0].findings[1] = new.responses[0].findings[0].clone(),
        |new| new.head.created_at_ms = Some(NOW_MS + 61_000),
        |new| new.head.created_at_ms = Some(NOW_MS - 91 * 86_400_000),
    ];
    for wrong in wrongs {
        let mut new = with_raws(review("r-1", &MODELS, 3));
        wrong(&mut new);
        let refused = scene.reviews.record(new, true).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    }
    let mut late = response("gpt-5", 3);
    late.findings[2].model = model("another");
    let refused = scene.reviews.add_response(&id("r-1"), &late).await.unwrap_err().to_string();
    assert!(refused.starts_with("findings[2].model_id: "), "{refused}");
    assert!(scene.items().await.is_empty() && scene.raws().await.is_empty());
}

async fn an_empty_review_is_recorded(scene: &Scene) {
    let mut new = review("r-1", &[], 0);
    new.head.id = None;
    new.head.requested_by = None;
    new.head.pull_request.files.clear();
    let recorded = scene.reviews.record(new.clone(), false).await.unwrap();
    let seen = scene.seen(recorded.review.id.as_str()).await.unwrap();
    assert_eq!((seen.review.models.len(), seen.review.total_findings), (0, 0));
    let another = scene.reviews.record(new, false).await.unwrap();
    assert_ne!(another.review.id, recorded.review.id, "without an id it is another review");
    assert_eq!(scene.items().await.len(), 6);
}

async fn the_time_of_the_first_attempt_stays(scene: &Scene) {
    let new = with_raws(review("r-1", &MODELS, 2));
    // The first transaction claims the id; the second fails.
    scene.watch.fail_once(2, weir_testkit::watched::Strike::Before);
    scene.reviews.record(new.clone(), false).await.unwrap_err();
    scene.watch.cancel();
    assert!(scene.seen("r-1").await.is_none(), "it is not complete");
    scene.clock.advance_ms(60_000);
    scene.reviews.record(new, false).await.unwrap();
    assert_eq!(scene.seen("r-1").await.unwrap().review.created_at_ms, NOW_MS);
    assert_eq!((scene.raws().await.len(), scene.expiries().await), (3, 3));
}

//! The ten access patterns, costs of a repository, and one review with everything.

use std::sync::Arc;
use std::time::Duration;

use weir_calendar::Day;
use weir_reviews::Reviews;
use weir_reviews::finding::Severity;
use weir_reviews::ids::{Category, ReviewId};
use weir_reviews::read::ListOptions;
use weir_table::embedded::Embedded;
use weir_table::retry::PAGE_MAX;

use super::generate::{self, REPOS};
use super::scene::{DAYS, Scene};
use crate::measure::{Figures, scatter, tasks};

/// Pages of reviews whose ids are asked for.
const PAGES: usize = 10;

#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern {
    Repo,
    Responses,
    Findings,
    Consensus,
    Model,
    Date,
    All,
    Severity,
    AllConsensus,
    Category,
    Costs,
    Whole,
}

impl Pattern {
    pub(super) const ALL: [Pattern; 12] = [
        Pattern::Repo,
        Pattern::Responses,
        Pattern::Findings,
        Pattern::Consensus,
        Pattern::Model,
        Pattern::Date,
        Pattern::All,
        Pattern::Severity,
        Pattern::AllConsensus,
        Pattern::Category,
        Pattern::Costs,
        Pattern::Whole,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Pattern::Repo => "1 reviews of a repository",
            Pattern::Responses => "2 responses of a review",
            Pattern::Findings => "3 findings of a review",
            Pattern::Consensus => "4 consensus of a review",
            Pattern::Model => "5 responses of a model",
            Pattern::Date => "6 reviews of a day",
            Pattern::All => "7 all reviews",
            Pattern::Severity => "8 findings of a severity",
            Pattern::AllConsensus => "9 all consensus",
            Pattern::Category => "10 findings of a category",
            Pattern::Costs => "costs of a repository",
            Pattern::Whole => "one review with everything",
        }
    }
}

/// What is asked for.
pub(super) struct Subjects {
    ids: Vec<ReviewId>,
    categories: Vec<Category>,
    today: Day,
}

/// The ids of the newest reviews.
pub(super) async fn subjects(scene: &Scene) -> Arc<Subjects> {
    let (mut ids, mut options) = (Vec::new(), ListOptions::default());
    for _ in 0..PAGES {
        let page = scene.reviews.all(&options).await.expect("a page");
        ids.extend(page.items.into_iter().map(|review| review.id));
        options.cursor = page.cursor;
        if options.cursor.is_none() {
            break;
        }
    }
    let today = Day::utc(scene.reviews.now_ms());
    Arc::new(Subjects { ids, categories: generate::categories(), today })
}

pub(super) async fn measure(
    scene: &Scene,
    subjects: &Arc<Subjects>,
    pattern: Pattern,
    length: Duration,
) -> Figures {
    let (reviews, subjects) = (scene.reviews.clone(), Arc::clone(subjects));
    tasks(1, length, move |caller, n| {
        let (reviews, subjects) = (reviews.clone(), Arc::clone(&subjects));
        async move { ask(&reviews, &subjects, pattern, scatter(caller, n)).await }
    })
    .await
}

async fn ask(reviews: &Reviews<Embedded>, of: &Subjects, pattern: Pattern, random: u64) {
    let (random, page) = (random as usize, ListOptions::default());
    let id = of.ids.get(random % of.ids.len()).expect("an id");
    let (owner, repo) = (generate::owner(), generate::repo(random % REPOS));
    let found = match pattern {
        Pattern::Repo => reviews.by_repo(&owner, &repo, &page).await.map(|list| list.items.len()),
        Pattern::Costs => reviews.costs(&owner, &repo, &page).await.map(|list| list.items.len()),
        Pattern::Responses => reviews.responses(id, PAGE_MAX, None).await.map(|l| l.items.len()),
        Pattern::Findings => reviews.findings(id, PAGE_MAX, None).await.map(|l| l.items.len()),
        Pattern::Consensus => reviews.consensus(id, PAGE_MAX, None).await.map(|l| l.items.len()),
        Pattern::Model => {
            let list = reviews.by_model(&generate::model(random % 5), &page).await;
            list.map(|list| list.items.len())
        }
        Pattern::Date => {
            let day = of.today.plus_days(-((random % DAYS as usize) as i64));
            // A small table has days without reviews.
            reviews.by_date(day, &page).await.map(|list| list.items.len().max(1))
        }
        Pattern::All => reviews.all(&page).await.map(|list| list.items.len()),
        Pattern::Severity => {
            let severity = Severity::ALL.get(random % 5).expect("a severity");
            reviews.findings_by_severity(*severity, &page).await.map(|list| list.items.len())
        }
        Pattern::AllConsensus => reviews.all_consensus(&page).await.map(|list| list.items.len()),
        Pattern::Category => {
            let category = of.categories.get(random % of.categories.len()).expect("a category");
            reviews.findings_by_category(category, &page).await.map(|list| list.items.len())
        }
        Pattern::Whole => reviews.get_whole(id).await.map(|whole| whole.findings.len()),
    };
    assert!(found.expect("a page") > 0, "{pattern:?} finds nothing");
}

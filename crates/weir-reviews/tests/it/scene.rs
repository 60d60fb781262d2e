//! Reviews on their own back-end, with a clock that stands still.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::memory::InMemory;
use object_store::path::Path;
use weir_reviews::raw::RawOutputs;
use weir_reviews::review::{RecordedReview, ReviewStatus};
use weir_reviews::rollup::{StoredSummary, Summary, SummaryId};
use weir_reviews::{Reviews, Settings};
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Item, Query, Store};
pub(crate) use weir_testkit::eventually;
use weir_testkit::stage::{self, Stage};
use weir_testkit::watched::Watch;

/// Either back-end, with its calls recorded.
pub(crate) type Watched = weir_testkit::watched::Watched<AnyBackend>;

/// Start of a scene's clock: 2037-01-23, 14:00 UTC.
pub(crate) const MORNING_MS: u64 = 2_116_332_000_000;
/// The same, signed.
pub(crate) const NOW_MS: i64 = 2_116_332_000_000;

/// Reviews ready for a scenario.
pub(crate) struct Scene {
    /// The reviews.
    pub(crate) reviews: Reviews<Watched>,
    /// Their clock.
    pub(crate) clock: Clock,
    /// Their store.
    pub(crate) store: Store<Watched>,
    /// Records the calls of their store.
    pub(crate) watch: Watch,
    /// Their raw outputs.
    pub(crate) objects: Arc<InMemory>,
    /// The prefix of the names of its tables.
    pub(crate) prefix: String,
}

impl Scene {
    async fn new(stage: Stage) -> Scene {
        let Stage { store, watch, clock, prefix, .. } = stage;
        let objects = Arc::new(InMemory::new());
        let raw_outputs = RawOutputs::new(objects.clone(), "raw");
        let opened =
            Reviews::open(store.clone(), raw_outputs, clock.clone(), Settings::default()).await;
        watch.reset();
        Scene { reviews: opened.unwrap(), clock, store, watch, objects, prefix }
    }

    /// Reviews of another process, with other settings.
    pub(crate) fn another_with(&self, change: impl FnOnce(&mut Settings)) -> Reviews<Watched> {
        let mut settings = self.reviews.settings().clone();
        change(&mut settings);
        let raw_outputs = RawOutputs::new(self.objects.clone(), "raw");
        Reviews::new(self.store.clone(), raw_outputs, self.clock.clone(), settings).unwrap()
    }

    /// All items of the table but rollups, whose marks outlive a review.
    pub(crate) async fn items(&self) -> Vec<Item> {
        let mut query = Query::scan(self.reviews.table().clone());
        let mut items = Vec::new();
        loop {
            let page = self.store.query(&query).await.unwrap();
            items.extend(page.items.into_iter().filter(|item| !is_rollup(item)));
            match page.cursor {
                Some(cursor) => query = query.after(cursor),
                None => return items,
            }
        }
    }

    /// The keys of all items, sorted, without those of the list of raw outputs, which differ by revision.
    pub(crate) async fn keys(&self) -> Vec<String> {
        let items = self.items().await;
        let key = |item: &Item| format!("{} | {}", item.s("PK").unwrap(), item.s("SK").unwrap());
        let mut keys: Vec<String> = items.iter().map(key).collect();
        keys.retain(|key| !key.starts_with("RAW"));
        keys.sort_unstable();
        keys
    }

    /// How many raw outputs are listed to expire.
    pub(crate) async fn expiries(&self) -> usize {
        let is_listed = |item: &&Item| item.s("PK").unwrap().starts_with("RAWEXPIRY#");
        self.items().await.iter().filter(is_listed).count()
    }

    /// Sweeps raw outputs as if all had expired: entries stay that a slow writer may still need.
    pub(crate) async fn sweep_everything(&self) {
        let late_ms = NOW_MS + 400 * 86_400_000;
        while self.reviews.sweep_raw(late_ms, 100).await.unwrap().more {}
        assert_eq!((self.raws().await.len(), self.expiries().await), (0, 0));
    }

    /// The keys of all raw outputs.
    pub(crate) async fn raws(&self) -> Vec<String> {
        let (mut folders, mut found) = (vec![Path::default()], Vec::new());
        while let Some(folder) = folders.pop() {
            let listed = self.objects.list_with_delimiter(Some(&folder)).await.unwrap();
            folders.extend(listed.common_prefixes);
            found.extend(listed.objects.into_iter().map(|object| object.location.to_string()));
        }
        found.sort_unstable();
        found
    }

    /// The ids of the reviews that rollups count.
    pub(crate) async fn summaries(&self) -> Vec<String> {
        let items = self.items().await;
        let is_summary = |item: &&Item| item.s("entity_type") == Some("REVIEW_SUMMARY");
        let id = |item: &Item| item.s("SK").unwrap().rsplit('#').next().unwrap().to_owned();
        items.iter().filter(is_summary).map(id).collect()
    }

    /// Rollups count a completed review as it is, and others not at all.
    async fn assert_counted(&self, recorded: &RecordedReview) {
        let (table, id) = (self.reviews.rollup_table(), SummaryId::of(&recorded.review));
        let stored = StoredSummary::read(&self.store, &table, id).await.unwrap();
        let is_completed = recorded.review.status == ReviewStatus::Completed;
        let expected = is_completed.then(|| Summary::of(recorded));
        assert_eq!(stored.map(|stored| stored.summary), expected);
    }

    /// The review, if readers see it. A completed one must be whole.
    pub(crate) async fn seen(&self, id: &str) -> Option<RecordedReview> {
        let id = weir_reviews::ids::ReviewId::new(id).unwrap();
        match self.reviews.get_whole(&id).await {
            Ok(review) => {
                crate::samples::assert_whole(&review);
                self.assert_counted(&review).await;
                Some(review)
            }
            Err(weir_reviews::Error::NotFound { .. }) => {
                assert!(self.summaries().await.iter().all(|of| *of != id.as_str()));
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn is_rollup(item: &Item) -> bool {
    item.s("entity_type").is_some_and(|entity_type| entity_type.starts_with("ROLLUP_"))
}

/// On the embedded store.
pub(crate) fn embedded(scenario: impl AsyncFnOnce(&Scene)) {
    stage::embedded(MORNING_MS, async |stage| scenario(&Scene::new(stage).await).await);
}

/// On the embedded store, with indexes that lag.
pub(crate) fn embedded_delayed_index(scenario: impl AsyncFnOnce(&Scene)) {
    let play = async |stage| scenario(&Scene::new(stage).await).await;
    stage::embedded_delayed_index(MORNING_MS, play);
}

/// On DynamoDB Local.
pub(crate) fn dynamodb_local(scenario: impl AsyncFnOnce(&Scene)) {
    let play = async |stage| scenario(&Scene::new(stage).await).await;
    stage::dynamodb_local("reviews", MORNING_MS, play);
}

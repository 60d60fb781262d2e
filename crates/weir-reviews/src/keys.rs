//! Every key of the table. The text is the storage format, so each builder has a test with the literal text.

use sha2::{Digest as _, Sha256};
use weir_calendar::Day;
use weir_table::{Item, Key, Name, SortRange};

use crate::bounds::RAW_EXPIRY_SHARDS;
use crate::finding::Severity;
use crate::ids::{Category, ConsensusId, FindingId, ModelId, Owner, Repo, ReviewId, UserName};
use crate::time::rfc3339;

/// Index by model and by date.
pub const GSI1: &str = "GSI1";
/// Index by entity type.
pub const GSI2: &str = "GSI2";
/// Index by category and by user.
pub const GSI3: &str = "GSI3";
/// Prefix of the sort keys of reviews.
pub const REVIEW_PREFIX: &str = "REVIEW#";
/// Prefix of the sort keys of cost metrics.
pub const COST_PREFIX: &str = "COST#";
/// Prefix of the sort keys of responses.
pub const MODEL_PREFIX: &str = "MODEL#";
/// Prefix of the sort keys of findings.
pub const FINDING_PREFIX: &str = "FINDING#";
/// Prefix of the sort keys of consensus items.
pub const CONSENSUS_PREFIX: &str = "CONSENSUS#";
/// Partition of the reviews whose deletion is not finished.
pub const DELETIONS: &str = "DELETIONS";
const FILES_SK: &str = "FILES";
const LOOKUP_SK: &str = "#";

/// Names a review: its id and its pull request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReviewRef {
    /// The id of the review.
    pub id: ReviewId,
    /// The owner of the repository.
    pub owner: Owner,
    /// The repository.
    pub repo: Repo,
    /// The number of the pull request.
    pub pr_number: u64,
}

/// An item with only its key.
#[must_use]
pub fn item(key: Key) -> Item {
    let item = Item::new().with("PK", key.partition.to_value());
    match key.sort {
        Some(sort) => item.with("SK", sort.to_value()),
        None => item,
    }
}

/// The key of an item of the table.
#[must_use]
pub fn key_of(item: &Item) -> Option<Key> {
    Some(Key::new(item.s("PK")?, item.s("SK")?))
}

/// Finds a review by its id.
#[must_use]
pub fn lookup(id: &ReviewId) -> Key {
    Key::new(format!("REVIEWID#{id}"), LOOKUP_SK)
}

/// Partition of the reviews and costs of a repository.
#[must_use]
pub fn repo_partition(owner: &Owner, repo: &Repo) -> String {
    format!("REPO#{owner}#{repo}")
}

/// A review.
#[must_use]
pub fn review(review: &ReviewRef, created_at_ms: i64) -> Key {
    let ReviewRef { id, owner, repo, pr_number } = review;
    let time = rfc3339(created_at_ms);
    Key::new(repo_partition(owner, repo), format!("{REVIEW_PREFIX}{time}#{pr_number}#{id}"))
}

/// The cost of a model in a review.
#[must_use]
pub fn cost(review: &ReviewRef, created_at_ms: i64, model: &ModelId) -> Key {
    let ReviewRef { id, owner, repo, pr_number } = review;
    let time = rfc3339(created_at_ms);
    Key::new(repo_partition(owner, repo), format!("{COST_PREFIX}{time}#{pr_number}#{model}#{id}"))
}

/// Partition of everything that the models said in a review.
#[must_use]
pub fn review_partition(review: &ReviewRef) -> String {
    let ReviewRef { id, owner, repo, pr_number } = review;
    format!("{REVIEW_PREFIX}{owner}#{repo}#{pr_number}#{id}")
}

/// Parses the partition of a review.
#[must_use]
pub fn parse_review_partition(text: &str) -> Option<ReviewRef> {
    let mut parts = text.strip_prefix(REVIEW_PREFIX)?.split('#');
    let owner = Owner::new(parts.next()?).ok()?;
    let repo = Repo::new(parts.next()?).ok()?;
    let pr_number = parts.next()?.parse().ok()?;
    let id = ReviewId::new(parts.next()?).ok()?;
    parts.next().is_none().then_some(ReviewRef { id, owner, repo, pr_number })
}

/// Parses the partition of a repository.
#[must_use]
pub fn parse_repo_partition(text: &str) -> Option<(Owner, Repo)> {
    let (owner, repo) = text.strip_prefix("REPO#")?.split_once('#')?;
    Some((Owner::new(owner).ok()?, Repo::new(repo).ok()?))
}

/// The response of a model.
#[must_use]
pub fn response(review: &ReviewRef, model: &ModelId) -> Key {
    Key::new(review_partition(review), format!("{MODEL_PREFIX}{model}"))
}

/// A finding.
#[must_use]
pub fn finding(review: &ReviewRef, model: &ModelId, id: &FindingId) -> Key {
    Key::new(review_partition(review), format!("{FINDING_PREFIX}{model}#{id}"))
}

/// A consensus.
#[must_use]
pub fn consensus(review: &ReviewRef, id: &ConsensusId) -> Key {
    Key::new(review_partition(review), format!("{CONSENSUS_PREFIX}{id}"))
}

/// The files that the pull request of a review changes.
#[must_use]
pub fn files(review: &ReviewRef) -> Key {
    Key::new(review_partition(review), FILES_SK)
}

/// Whether an item has the files of a review.
#[must_use]
pub fn is_files(item: &Item) -> bool {
    item.s("SK") == Some(FILES_SK)
}

/// A deletion that is not finished.
#[must_use]
pub fn deletion(id: &ReviewId) -> Key {
    Key::new(DELETIONS, id.as_str())
}

/// The entry of a raw output in the list of expiries, which is ordered by time.
#[must_use]
pub fn raw_expiry(expires_at_ms: i64, raw_key: &str) -> Key {
    let shard = hash(raw_key) % RAW_EXPIRY_SHARDS;
    Key::new(raw_expiry_partition(shard), raw_expiry_sort(expires_at_ms, raw_key))
}

/// Sort key of the entry of a raw output, or of a bound of a range of them.
#[must_use]
pub fn raw_expiry_sort(expires_at_ms: i64, raw_key: &str) -> String {
    format!("{}#{raw_key}", rfc3339(expires_at_ms))
}

/// Parses the sort key of the entry of a raw output.
#[must_use]
pub fn parse_raw_expiry_sort(text: &str) -> Option<(i64, &str)> {
    let (time, raw_key) = text.split_once('#')?;
    Some((crate::time::parse_rfc3339("SK", time).ok()?, raw_key))
}

/// Partition of the expiries of raw outputs.
#[must_use]
pub fn raw_expiry_partition(shard: u32) -> String {
    format!("RAWEXPIRY#{shard}")
}

/// Reviews of a day: partition in [`GSI1`].
#[must_use]
pub fn by_date(day: Day, shard: Option<u32>) -> String {
    sharded(format!("DATE#{day}"), shard)
}

/// Responses of a model: partition in [`GSI1`].
#[must_use]
pub fn by_model(model: &ModelId) -> String {
    format!("MODEL#{model}")
}

/// Sort key of a review or a response in [`GSI1`].
#[must_use]
pub fn review_gsi1_sort(review: &ReviewRef, created_at_ms: i64) -> String {
    format!("{REVIEW_PREFIX}{}", review_gsi2_sort(review, created_at_ms))
}

/// Costs of a model: partition in [`GSI1`]. They are apart from its responses, so that a reader that sums the whole partition
/// of a model meets only responses.
#[must_use]
pub fn costs_of_model(model: &ModelId) -> String {
    format!("COST#{model}")
}

/// Sort key of a cost metric in [`GSI1`].
#[must_use]
pub fn cost_gsi1_sort(review: &ReviewRef, created_at_ms: i64) -> String {
    format!("{COST_PREFIX}{}", review_gsi2_sort(review, created_at_ms))
}

/// All reviews: partition in [`GSI2`].
#[must_use]
pub fn all_reviews(shard: Option<u32>) -> String {
    sharded("TYPE#REVIEW".to_owned(), shard)
}

/// Sort key of a review in [`GSI2`].
#[must_use]
pub fn review_gsi2_sort(review: &ReviewRef, created_at_ms: i64) -> String {
    let ReviewRef { id, owner, repo, pr_number } = review;
    format!("{}#{owner}#{repo}#{pr_number}#{id}", rfc3339(created_at_ms))
}

/// All responses: partition in [`GSI2`].
pub const ALL_RESPONSES: &str = "TYPE#MODEL_RESPONSE";
/// All cost metrics: partition in [`GSI2`].
pub const ALL_COSTS: &str = "TYPE#COST_METRIC";
/// All consensus items: partition in [`GSI2`].
pub const ALL_CONSENSUS: &str = "TYPE#CONSENSUS";

/// Recordings in one call that have begun and that no reader has seen: partition in [`GSI2`].
pub const RECORDINGS: &str = "TYPE#RECORDING";

/// Sort key of the lookup of such a recording in [`GSI2`].
#[must_use]
pub fn recording_gsi2_sort(begun_at_ms: i64, id: &ReviewId) -> String {
    format!("{}#{id}", rfc3339(begun_at_ms))
}

/// Sort keys of the recordings that began before a time.
#[must_use]
pub fn recordings_before(begun_at_ms: i64) -> SortRange {
    SortRange::Lt(rfc3339(begun_at_ms).into())
}

/// When the recording with this sort key began, in milliseconds since 1970.
#[must_use]
pub fn parse_recording_gsi2_sort(text: &str) -> Option<i64> {
    crate::time::parse_rfc3339("GSI2SK", text.split_once('#')?.0).ok()
}

/// Sort key of a response in [`GSI2`].
#[must_use]
pub fn response_gsi2_sort(created_at_ms: i64, model: &ModelId) -> String {
    format!("{}#{model}", rfc3339(created_at_ms))
}

/// Sort key of a cost metric in [`GSI2`].
#[must_use]
pub fn cost_gsi2_sort(review: &ReviewRef, created_at_ms: i64, model: &ModelId) -> String {
    format!("{}#{model}#{}", rfc3339(created_at_ms), review.id)
}

/// Findings of a severity: partition in [`GSI2`].
#[must_use]
pub fn by_severity(severity: Severity, shard: Option<u32>) -> String {
    sharded(format!("TYPE#FINDING#{severity}"), shard)
}

/// Sort key of a finding in [`GSI2`].
#[must_use]
pub fn finding_gsi2_sort(created_at_ms: i64, category: Option<&Category>) -> String {
    format!("{}#{}", rfc3339(created_at_ms), category.map_or("", Category::as_str))
}

/// Sort key of a consensus in [`GSI2`].
#[must_use]
pub fn consensus_gsi2_sort(
    created_at_ms: i64,
    severity: Severity,
    category: Option<&Category>,
) -> String {
    let category = category.map_or("", Category::as_str);
    format!("{}#{severity}#{category}", rfc3339(created_at_ms))
}

/// Findings and consensus items of a category: partition in [`GSI3`].
#[must_use]
pub fn by_category(category: &Category) -> String {
    format!("CATEGORY#{category}")
}

/// Sort key of a finding in [`GSI3`].
#[must_use]
pub fn finding_gsi3_sort(created_at_ms: i64, severity: Severity, model: &ModelId) -> String {
    format!("{}#{severity}#{model}", rfc3339(created_at_ms))
}

/// Sort key of a consensus in [`GSI3`].
#[must_use]
pub fn consensus_gsi3_sort(created_at_ms: i64, severity: Severity) -> String {
    format!("{}#{severity}#CONSENSUS", rfc3339(created_at_ms))
}

/// Reviews that a user asked for: partition in [`GSI3`].
#[must_use]
pub fn by_user(user: &UserName) -> String {
    format!("USER#{user}")
}

/// Sort key of a review in [`GSI3`].
#[must_use]
pub fn review_gsi3_sort(review: &ReviewRef, created_at_ms: i64) -> String {
    format!("{REVIEW_PREFIX}{}#{}", rfc3339(created_at_ms), review.id)
}

/// The index shard of a review; none if there is only one.
#[must_use]
pub fn shard_of(id: &ReviewId, shards: u32) -> Option<u32> {
    (shards > 1).then(|| hash(id.as_str()) % shards)
}

/// Sort keys of a time range, after a prefix: from `from_ms`, inclusive, to `to_ms`, exclusive. `None` if it is empty.
#[must_use]
pub fn time_range(prefix: &str, from_ms: Option<i64>, to_ms: Option<i64>) -> Option<SortRange> {
    // A colon sorts after every digit.
    let end = || format!("{prefix}:");
    let first = from_ms.map_or_else(|| prefix.to_owned(), |ms| prefix.to_owned() + &rfc3339(ms));
    // Every sort key goes on after its time, so the bare time is before all of its own.
    let last = to_ms.map_or_else(end, |ms| prefix.to_owned() + &rfc3339(ms));
    let first = if first.is_empty() { "0".to_owned() } else { first };
    (first < last).then(|| SortRange::Between(first.into(), last.into()))
}

/// Names of the attributes with the keys of an index.
#[must_use]
pub fn index_attributes(index: &str) -> (Name, Name) {
    (format!("{index}PK").into(), format!("{index}SK").into())
}

fn sharded(partition: String, shard: Option<u32>) -> String {
    match shard {
        Some(shard) => format!("{partition}#{shard}"),
        None => partition,
    }
}

/// A number that is the same on every machine.
fn hash(text: &str) -> u32 {
    let digest = Sha256::digest(text);
    digest.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use weir_table::limits::{PARTITION_KEY_MAX, SORT_KEY_MAX};

    use super::*;

    const AT_MS: i64 = 1_736_937_000_000;

    fn of_pull_request() -> ReviewRef {
        ReviewRef {
            id: ReviewId::new("uuid-v4").unwrap(),
            owner: Owner::new("owner").unwrap(),
            repo: Repo::new("repo").unwrap(),
            pr_number: 123,
        }
    }

    #[test]
    fn the_text_of_keys_is_stable() {
        let at = of_pull_request();
        let model = ModelId::new("meta/llama:70b").unwrap();
        let finding_id = FindingId::new("finding-001").unwrap();
        let consensus_id = ConsensusId::new("consensus-001").unwrap();
        for (key, expected) in [
            (lookup(&at.id), "REVIEWID#uuid-v4 | #"),
            (review(&at, AT_MS), "REPO#owner#repo | REVIEW#2025-01-15T10:30:00.000Z#123#uuid-v4"),
            (
                cost(&at, AT_MS, &model),
                "REPO#owner#repo | COST#2025-01-15T10:30:00.000Z#123#meta/llama:70b#uuid-v4",
            ),
            (response(&at, &model), "REVIEW#owner#repo#123#uuid-v4 | MODEL#meta/llama:70b"),
            (
                finding(&at, &model, &finding_id),
                "REVIEW#owner#repo#123#uuid-v4 | FINDING#meta/llama:70b#finding-001",
            ),
            (
                consensus(&at, &consensus_id),
                "REVIEW#owner#repo#123#uuid-v4 | CONSENSUS#consensus-001",
            ),
            (files(&at), "REVIEW#owner#repo#123#uuid-v4 | FILES"),
            (deletion(&at.id), "DELETIONS | uuid-v4"),
            (
                raw_expiry(AT_MS, "owner/repo/123/m/t.json"),
                "RAWEXPIRY#2 | 2025-01-15T10:30:00.000Z#owner/repo/123/m/t.json",
            ),
        ] {
            assert_eq!(key.to_string(), expected);
        }
        assert_eq!(parse_review_partition(&review_partition(&at)), Some(at.clone()));
        assert_eq!(parse_repo_partition("REPO#owner#repo"), Some((at.owner, at.repo)));
        for bad in ["", "REVIEW#a#b#1", "REVIEW#a#b#x#id", "REVIEW#a#b#1#id#more", "REPO#a"] {
            assert_eq!((parse_review_partition(bad), parse_repo_partition(bad)), (None, None));
        }
        let sort = raw_expiry_sort(AT_MS, "a/b");
        assert_eq!(parse_raw_expiry_sort(&sort), Some((AT_MS, "a/b")));
    }

    #[test]
    fn the_text_of_index_keys_is_stable() {
        let at = of_pull_request();
        let model = ModelId::new("gpt-5").unwrap();
        let security = Category::new("security").unwrap();
        let day = Day::utc(AT_MS);
        for (text, expected) in [
            (by_date(day, None), "DATE#2025-01-15"),
            (by_date(day, Some(3)), "DATE#2025-01-15#3"),
            (by_model(&model), "MODEL#gpt-5"),
            (costs_of_model(&model), "COST#gpt-5"),
            (
                review_gsi1_sort(&at, AT_MS),
                "REVIEW#2025-01-15T10:30:00.000Z#owner#repo#123#uuid-v4",
            ),
            (cost_gsi1_sort(&at, AT_MS), "COST#2025-01-15T10:30:00.000Z#owner#repo#123#uuid-v4"),
            (all_reviews(None), "TYPE#REVIEW"),
            (all_reviews(Some(0)), "TYPE#REVIEW#0"),
            (review_gsi2_sort(&at, AT_MS), "2025-01-15T10:30:00.000Z#owner#repo#123#uuid-v4"),
            (ALL_RESPONSES.to_owned(), "TYPE#MODEL_RESPONSE"),
            (ALL_COSTS.to_owned(), "TYPE#COST_METRIC"),
            (ALL_CONSENSUS.to_owned(), "TYPE#CONSENSUS"),
            (RECORDINGS.to_owned(), "TYPE#RECORDING"),
            (recording_gsi2_sort(AT_MS, &at.id), "2025-01-15T10:30:00.000Z#uuid-v4"),
            (response_gsi2_sort(AT_MS, &model), "2025-01-15T10:30:00.000Z#gpt-5"),
            (cost_gsi2_sort(&at, AT_MS, &model), "2025-01-15T10:30:00.000Z#gpt-5#uuid-v4"),
            (by_severity(Severity::High, None), "TYPE#FINDING#high"),
            (by_severity(Severity::High, Some(1)), "TYPE#FINDING#high#1"),
            (finding_gsi2_sort(AT_MS, Some(&security)), "2025-01-15T10:30:00.000Z#security"),
            (finding_gsi2_sort(AT_MS, None), "2025-01-15T10:30:00.000Z#"),
            (
                consensus_gsi2_sort(AT_MS, Severity::High, Some(&security)),
                "2025-01-15T10:30:00.000Z#high#security",
            ),
            (by_category(&security), "CATEGORY#security"),
            (
                finding_gsi3_sort(AT_MS, Severity::High, &model),
                "2025-01-15T10:30:00.000Z#high#gpt-5",
            ),
            (consensus_gsi3_sort(AT_MS, Severity::High), "2025-01-15T10:30:00.000Z#high#CONSENSUS"),
            (by_user(&UserName::new("octocat").unwrap()), "USER#octocat"),
            (review_gsi3_sort(&at, AT_MS), "REVIEW#2025-01-15T10:30:00.000Z#uuid-v4"),
        ] {
            assert_eq!(text, expected);
        }
        assert_eq!((shard_of(&at.id, 1), shard_of(&at.id, 4)), (None, Some(1)));
        assert_eq!(index_attributes(GSI2), ("GSI2PK".into(), "GSI2SK".into()));
    }

    #[test]
    fn a_time_range_includes_its_start_and_excludes_its_end() {
        let at = of_pull_request();
        let is_in = |from, to| {
            let sort = review_gsi2_sort(&at, AT_MS);
            time_range("", from, to).is_some_and(|range| match range {
                SortRange::Between(low, high) => low <= sort.clone().into() && high >= sort.into(),
                _ => false,
            })
        };
        assert!(is_in(None, None) && is_in(Some(AT_MS), None) && is_in(None, Some(AT_MS + 1)));
        assert!(!is_in(Some(AT_MS + 1), None) && !is_in(None, Some(AT_MS)));
        assert!(!is_in(Some(AT_MS), Some(AT_MS)) && !is_in(Some(i64::MAX), Some(i64::MIN)));
        let with_prefix = time_range(REVIEW_PREFIX, None, None).unwrap();
        let expected = SortRange::Between("REVIEW#".into(), "REVIEW#:".into());
        assert_eq!(with_prefix, expected);
    }

    #[test]
    fn the_longest_ids_fit_the_key_limits() {
        let at = ReviewRef {
            id: ReviewId::new("i".repeat(128)).unwrap(),
            owner: Owner::new("o".repeat(100)).unwrap(),
            repo: Repo::new("r".repeat(100)).unwrap(),
            pr_number: crate::bounds::PR_NUMBER_MAX,
        };
        let model = ModelId::new("m".repeat(256)).unwrap();
        let id = FindingId::new("f".repeat(128)).unwrap();
        for key in [
            lookup(&at.id),
            review(&at, AT_MS),
            cost(&at, AT_MS, &model),
            finding(&at, &model, &id),
            raw_expiry(AT_MS, &"x".repeat(crate::bounds::RAW_KEY_MAX)),
        ] {
            assert!(key.partition.size() <= PARTITION_KEY_MAX);
            assert!(key.sort.is_none_or(|sort| sort.size() <= SORT_KEY_MAX));
        }
        assert!(review_gsi1_sort(&at, AT_MS).len() <= SORT_KEY_MAX);
        assert!(cost_gsi2_sort(&at, AT_MS, &model).len() <= SORT_KEY_MAX);
    }
}

//! The lists.

use weir_calendar::Day;
use weir_table::retry::Listed;
use weir_table::{Backend, Item};

use super::ListOptions;
use crate::error::Result;
use crate::finding::Severity;
use crate::ids::{Category, ModelId, Owner, Repo, UserName};
use crate::items::{CostMetric, review_ref_of};
use crate::keys::{self, COST_PREFIX, GSI1, GSI2, GSI3, REVIEW_PREFIX, ReviewRef};
use crate::review::{Consensus, RecordedFinding, Response, Review};
use crate::reviews::Reviews;

/// The response of a model, and its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedResponse {
    /// The review.
    pub review: ReviewRef,
    /// When the review was made, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// The response.
    pub response: Response,
}

/// A finding, and its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFinding {
    /// The review.
    pub review: ReviewRef,
    /// When the review was made, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// The finding.
    pub finding: RecordedFinding,
}

/// A consensus, and its review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedConsensus {
    /// The review.
    pub review: ReviewRef,
    /// When the review was made, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// The consensus.
    pub consensus: Consensus,
}

/// Lists leave out the files of pull requests.
impl<B: Backend> Reviews<B> {
    /// Reviews of a repository.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn by_repo(
        &self,
        owner: &Owner,
        repo: &Repo,
        options: &ListOptions,
    ) -> Result<Listed<Review>> {
        let partition = vec![keys::repo_partition(owner, repo)];
        self.list(None, partition, REVIEW_PREFIX, options, Review::decode).await
    }

    /// Costs of a repository, by review and model.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn costs(
        &self,
        owner: &Owner,
        repo: &Repo,
        options: &ListOptions,
    ) -> Result<Listed<CostMetric>> {
        let partition = vec![keys::repo_partition(owner, repo)];
        self.list(None, partition, COST_PREFIX, options, CostMetric::decode).await
    }

    /// Responses of a model.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn by_model(
        &self,
        model: &ModelId,
        options: &ListOptions,
    ) -> Result<Listed<ListedResponse>> {
        let decode = |item: &Item| {
            let ((review, created_at_ms), response) =
                (review_ref_of(item)?, Response::decode(item)?);
            Ok(ListedResponse { review, created_at_ms, response })
        };
        self.list(Some(GSI1), vec![keys::by_model(model)], REVIEW_PREFIX, options, decode).await
    }

    /// Reviews of a day.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn by_date(&self, day: Day, options: &ListOptions) -> Result<Listed<Review>> {
        let partitions = self.shards(|shard| keys::by_date(day, shard));
        self.list(Some(GSI1), partitions, REVIEW_PREFIX, options, Review::decode).await
    }

    /// All reviews.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn all(&self, options: &ListOptions) -> Result<Listed<Review>> {
        let partitions = self.shards(keys::all_reviews);
        self.list(Some(GSI2), partitions, "", options, Review::decode).await
    }

    /// Findings of a severity.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn findings_by_severity(
        &self,
        severity: Severity,
        options: &ListOptions,
    ) -> Result<Listed<ListedFinding>> {
        let partitions = self.shards(|shard| keys::by_severity(severity, shard));
        self.list(Some(GSI2), partitions, "", options, listed_finding).await
    }

    /// Findings of a category. A page may have fewer entries than its limit, because the list also has consensus items,
    /// which are left out.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn findings_by_category(
        &self,
        category: &Category,
        options: &ListOptions,
    ) -> Result<Listed<ListedFinding>> {
        self.list(Some(GSI3), vec![keys::by_category(category)], "", options, listed_finding).await
    }

    /// Consensus of all reviews.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn all_consensus(&self, options: &ListOptions) -> Result<Listed<ListedConsensus>> {
        let decode = |item: &Item| {
            let ((review, created_at_ms), consensus) =
                (review_ref_of(item)?, Consensus::decode(item)?);
            Ok(ListedConsensus { review, created_at_ms, consensus })
        };
        self.list(Some(GSI2), vec![keys::ALL_CONSENSUS.to_owned()], "", options, decode).await
    }

    /// Reviews that a user asked for.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn by_user(&self, user: &UserName, options: &ListOptions) -> Result<Listed<Review>> {
        let partition = vec![keys::by_user(user)];
        self.list(Some(GSI3), partition, REVIEW_PREFIX, options, Review::decode).await
    }

    /// The partitions of a list: one, or that of the time before there were shards, and the shards.
    fn shards(&self, partition: impl Fn(Option<u32>) -> String) -> Vec<String> {
        let shards = match self.settings().index_shards {
            0 | 1 => 0..0,
            count => 0..count,
        };
        [None].into_iter().chain(shards.map(Some)).map(partition).collect()
    }
}

fn listed_finding(item: &Item) -> Result<ListedFinding> {
    let ((review, created_at_ms), finding) = (review_ref_of(item)?, RecordedFinding::decode(item)?);
    Ok(ListedFinding { review, created_at_ms, finding })
}

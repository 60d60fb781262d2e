//! Requests and responses of reviews: one file per group of routes.
//!
//! Costs are decimal dollars in a string, exact to a micro-USD: `"0.012345"`.

mod comparison;
mod consensus;
mod findings;
pub mod formats;
mod params;
mod record;
mod responses;
mod review;
mod rollups;
mod sarif;

pub use self::comparison::{
    CategoryFigures, CompareParams, Comparison, Estimate, FindingCounts, FindingFigures, Interval,
    ModelComparison, PairComparison, SeverityFigures,
};
pub use self::consensus::{Confidence, Consensus, ConsensusMember, ListedConsensus};
pub use self::findings::{
    Feedback, FeedbackRequest, Finding, FindingsParams, ListedFinding, Severity, Verdict,
};
pub use self::formats::{DateParam, FindingParam, ModelParam, RepoParam, ReviewParam, UserParam};
pub use self::params::{
    IncludeParams, ReportFormat, ReportParams, SarifParams, SarifResponseParams,
};
pub use self::record::{
    CompleteRequest, CompletedStatus, NewConsensus, NewFinding, NewResponse, NewReview,
    RecordParams, RecordedStatus,
};
pub use self::responses::{CostMetric, ListedResponse, Response, ResponseStatus};
pub use self::review::{Review, ReviewRef, ReviewStatus};
pub use self::rollups::{RollupDifference, VerifyRollupsRequest, VerifyRollupsResponse};
pub use self::sarif::{SarifDriver, SarifLog, SarifRun, SarifTool};

/// Content type of SARIF.
pub const SARIF: &str = "application/sarif+json";

//! Formats of ids and amounts, and the ids that paths name. The domain checks them.

use utoipa::IntoParams;

use crate::texts;

texts! {
    /// The name of an owner or a repository; not `.` or `..`.
    RepoName = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,98}$", 100, "acme";
    /// A repository with its owner.
    RepoPath = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,97}/(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,97}$",
        201, "acme/weir";
    /// The id of a review or a consensus; not `.` or `..`.
    ReviewId = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,125}$", 128, "b0f7a1";
    /// The id of a consensus; not `.` or `..`.
    ConsensusId = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,125}$", 128, "consensus-001";
    /// A model id: printable ASCII without blanks and `#`.
    ReviewModelId = r"^[!-\x22$-~]{1,256}$", 256, "anthropic.claude-sonnet-4";
    /// Model ids, separated by commas.
    ModelIds = r"^[!-\x22$-+\x2d-~]{1,256}$", 5_139, "gpt-5";
    /// A finding id: printable ASCII without blanks and `#`.
    FindingId = r"^[!-\x22$-~]{1,128}$", 128, "finding-001";
    /// A user name: printable ASCII without blanks and `#`.
    UserName = r"^[!-\x22$-~]{1,100}$", 100, "octocat";
    /// A category; not `.` or `..`.
    CategoryName = r"^(\.?[A-Za-z0-9_-]|\.\.[A-Za-z0-9_.-])[A-Za-z0-9_.-]{0,61}$", 64, "security";
    /// Dollars as a decimal number, at most a million. What is smaller than a micro-USD is rounded up.
    CostUsd = r"^(1000000|[0-9]{1,6}(\.[0-9]{1,12})?)$", 19, "0.0089";
    /// A path of a file, without control characters.
    FilePath = r"^[^\x00-\x1f\x7f-\x9f]+$", 4_096, "src/auth/login.py";
    /// A rule of a linter, without control characters.
    RuleName = r"^[^\x00-\x1f\x7f-\x9f]+$", 512, "B608";
    /// A title that is not blank.
    Title = r"\S", 65_536, "SQL injection";
    /// A calendar date.
    CalendarDate = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$", 10, "2026-01-23";
    /// Parts of a review, separated by commas.
    Included = r"^(responses|findings|consensus)(,(responses|findings|consensus)){0,2}$", 64, "findings,consensus";
}

/// The review that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ReviewParam {
    /// Id of the review.
    #[param(value_type = ReviewId, inline)]
    pub id: String,
}

/// The repository that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RepoParam {
    /// Owner of the repository.
    #[param(value_type = RepoName, inline)]
    pub owner: String,
    /// Name of the repository.
    #[param(value_type = RepoName, inline)]
    pub repo: String,
}

/// The model that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ModelParam {
    /// Id of the model; a `/` in it is escaped as `%2F`.
    #[param(value_type = ReviewModelId, inline)]
    pub model: String,
}

/// The finding that a path names, of the model that it names too.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct FindingParam {
    /// Id of the finding; a `/` in it is escaped as `%2F`.
    #[param(value_type = FindingId, inline)]
    pub finding_id: String,
}

/// The user that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct UserParam {
    /// Name of the user who requested the reviews; a `/` in it is escaped as `%2F`.
    #[param(value_type = UserName, inline)]
    pub user: String,
}

/// The day that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct DateParam {
    /// Day in UTC, as YYYY-MM-DD.
    #[param(value_type = CalendarDate, inline)]
    pub day: String,
}

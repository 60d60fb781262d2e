//! `/v1/practice/users`: who signs in, by email address or Google id, and on which plan.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::formats::{EmailAddress, GoogleId, Line, WebUrl};
use crate::patch::present;

/// A user about to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// Email address, which no other user has in any case.
    #[schema(value_type = EmailAddress)]
    pub email: String,
    /// Name of the user.
    #[schema(value_type = Line)]
    pub name: String,
    /// URL of a picture of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WebUrl>)]
    pub picture_url: Option<String>,
    /// Google account id, which no other user has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<GoogleId>)]
    pub google_id: Option<String>,
    /// Id of the plan; the plan Free by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991u64, example = 1)]
    pub plan_id: Option<u64>,
    /// Whether the user is of the staff, whom no plan limits.
    #[serde(default)]
    #[schema(default = false)]
    pub is_staff: bool,
}

/// Fields of a user to change; absent ones stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserPatch {
    /// Email address, which no other user has in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EmailAddress>)]
    pub email: Option<String>,
    /// Name of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Line>)]
    pub name: Option<String>,
    /// URL of a picture of the user; `null` removes it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WebUrl>)]
    pub picture_url: Option<Option<String>>,
    /// Google account id, which no other user has; `null` removes it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<GoogleId>)]
    pub google_id: Option<Option<String>>,
    /// Whether the user is of the staff, whom no plan limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_staff: Option<bool>,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// Id of the user.
    pub id: String,
    /// Email address, as it was given.
    pub email: String,
    /// Name of the user.
    pub name: String,
    /// URL of a picture of the user.
    pub picture_url: Option<String>,
    /// Google account id.
    pub google_id: Option<String>,
    /// Id of the plan.
    pub plan_id: u64,
    /// Whether the user may do anything.
    pub is_active: bool,
    /// Whether the user is of the staff, whom no plan limits.
    pub is_staff: bool,
    /// Time of the creation.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Which users to list: all, or those with one of these.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UserListParams {
    /// Email address of the user, in any case. A list by email address has at most one user.
    #[param(value_type = EmailAddress, inline, required = false)]
    pub email: Option<String>,
    /// Google account id of the user. A list by Google account has at most one user.
    #[param(value_type = GoogleId, inline, required = false)]
    pub google_id: Option<String>,
    /// Id of the plan of the users.
    #[param(minimum = 1, maximum = 9_007_199_254_740_991u64, required = false)]
    pub plan: Option<u64>,
}

/// The plan to which a user moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveUserRequest {
    /// Id of the plan.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991u64, example = 2)]
    pub plan_id: u64,
}

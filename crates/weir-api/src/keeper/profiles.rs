//! `…/inference-profiles`: model labels that belong to one app.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::formats::{Identifier, ModelId};

/// An inference profile to register.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InferenceProfileRequest {
    /// Label of the profile; it must differ from every configured model label.
    #[schema(value_type = Identifier)]
    pub profile_label: String,
    /// ARN of the inference profile in Bedrock.
    #[schema(
        pattern = "^arn:aws:bedrock:[a-z0-9-]{1,20}:[0-9]{12}:application-inference-profile/[a-z0-9]{1,30}$",
        example = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3"
    )]
    pub inference_profile_arn: String,
    /// Model that the profile stands for. The profile has its price, unless a price was imported for the ARN itself.
    /// An ARN that names its model needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ModelId>)]
    pub model_id: Option<String>,
    /// Description of the profile.
    #[serde(default)]
    #[schema(max_length = 1024, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", default = "")]
    pub description: String,
}

/// An inference profile of an app.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct InferenceProfile {
    /// Label of the profile.
    pub id: String,
    /// Label of the profile; the same as `id`.
    pub profile_label: String,
    /// ARN of the inference profile in Bedrock.
    pub inference_profile_arn: String,
    /// Model that the profile stands for, when it was registered with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Description of the profile.
    pub description: String,
    /// Always `profile`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Time at which the profile was registered.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// The inference profile that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProfileParam {
    /// Label of the inference profile.
    #[param(value_type = Identifier, inline)]
    pub label: String,
}

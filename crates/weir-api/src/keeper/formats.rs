//! Formats of ids and names, and the ids that paths name. The keeper checks them.

use utoipa::IntoParams;

use crate::texts;

texts! {
    /// A UUID.
    Uuid = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
        36, "550e8400-e29b-41d4-a716-446655440000";
    /// The id of an org: a UUID, or a name without `-app-`.
    OrgId = r"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[a-z0-9][a-z0-9-]{0,62})$",
        63, "acme";
    /// The id of an app.
    AppId = r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$", 128, "app-production-api";
    /// A model label, or the id of a webhook or an import.
    Identifier = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", 64, "premium";
    /// A model id of a vendor; on Bedrock also an inference profile id or ARN.
    ModelId = r"^[!-\x22$-~]{1,2048}$", 2048, "anthropic.claude-sonnet-4-5-20250929-v1:0";
    /// A vendor of models.
    VendorName = r"^[a-z0-9_-]{1,32}$", 32, "openai";
    /// An AWS region.
    AwsRegion = r"^[a-z0-9-]{1,32}$", 32, "us-east-1";
    /// The name of an org or an app.
    DisplayName = r"^[^\x00-\x20\x7f-\x9f\s]([^\x00-\x1f\x7f-\x9f]{0,200}[^\x00-\x20\x7f-\x9f\s])?$", 202, "Sample Corp";
    /// `today`, or a calendar date.
    OrgDate = r"^(today|20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8]))$", 10, "today";
    /// A flag in a query.
    Flag = r"^(true|True|1|false|False|0)$", 5, "true";
    /// A calendar date.
    CalendarDate = r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])$", 10, "2026-01-23";
}

/// The org that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct OrgParam {
    /// Id of the org: a UUID, or a name of up to 63 of `a-z`, `0-9` and `-` that does not begin with `-`, contain `-app-` or end
    /// with `-app`.
    #[param(value_type = OrgId, inline)]
    pub org: String,
}

/// The app that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct AppParam {
    /// Id of the app: up to 128 characters, none of them `#` or `/`.
    #[param(value_type = AppId, inline)]
    pub app: String,
}

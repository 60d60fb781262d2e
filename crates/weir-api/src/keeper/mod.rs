//! Requests and responses of the keeper: one file for each group of routes.
//!
//! Amounts are micro-USD and times are RFC 3339. Types of the routes that programs call for every model call
//! ([`ModelSelection`], [`SubmissionResponse`]) borrow their texts, so that the server copies none.

mod aggregates;
mod audit;
mod budgets;
mod config;
mod credentials;
pub mod formats;
mod hours;
mod prices;
mod profiles;
mod selection;
mod sticky;
mod submissions;
mod token;
mod webhooks;
mod what_if;

pub use self::aggregates::{
    ConfigBasis, DayParams, DayRangeParams, DayTotals, ModelTotals, UsageSum,
};
pub use self::audit::OrgAuditEvent;
pub use self::budgets::{Budget, BudgetParams, ModelBudget};
pub use self::config::{
    AppConfig, ClientCredentials, ConfigOverrides, ConfigResponse, DeletedParams, DeletionResponse,
    EffectiveConfig, OrgConfig, PendingConfig, QuotaScope, SecretLink,
};
pub use self::credentials::{
    ClientSecret, RotationRequest, RotationResponse, SecretParams, SecretRequest, SecretRotation,
};
pub use self::formats::{AppParam, OrgParam};
pub use self::hours::{DayHours, HourSpend};
pub use self::prices::{
    LongContextPrice, ModelPrice, PRICES_MAX, PriceEntry, PriceImport, PriceImportParam,
    PriceImportRequest, PriceParams, PriceSource,
};
pub use self::profiles::{InferenceProfile, InferenceProfileRequest, ProfileParam};
pub use self::selection::{
    ClientGuidance, ModelPricing, ModelQuota, ModelSelection, QuotaMode, QuotaState, QuotaStatus,
    RecommendedModel, SelectionParams,
};
pub use self::sticky::{StickyFallback, StickyOverride};
pub use self::submissions::{
    CallStatus, DailyTotal, SubmissionBatch, SubmissionBatchResponse, SubmissionFailure,
    SubmissionProcessing, SubmissionRequest, SubmissionResponse, SubmissionResult,
};
pub use self::token::{
    RefreshRequest, RefreshResponse, RevocationRequest, TokenRequest, TokenResponse,
};
pub use self::webhooks::{
    DeliveryParam, Webhook, WebhookConfig, WebhookDelivery, WebhookDeliveryStatus, WebhookParam,
};
pub use self::what_if::{
    RecordedDay, RecordedModel, SimulatedDay, SimulatedEvent, SimulatedEventKind, SimulatedModel,
    SimulationRequest, SimulationResponse, SpendPoint,
};

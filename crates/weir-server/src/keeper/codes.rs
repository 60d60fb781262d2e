//! Error codes that only the keeper uses.

weir_framework::codes! {
    INVALID_CONFIG = BAD_REQUEST, "The configuration is wrong",
        "Correct the field that `details` names.";
    INVALID_MODEL_LABEL = BAD_REQUEST, "There is no such model label",
        "Use a label of the catalogue, or register an inference profile.";
    UNKNOWN_PRICE = BAD_REQUEST, "The model has no price",
        "Import a price, or let the org count unpriced models as zero.";
    QUOTA_EXCEEDED = TOO_MANY_REQUESTS, "The budget of the day is spent",
        "Wait as long as `Retry-After` says, or raise the quota.";
}

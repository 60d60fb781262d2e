//! Error codes that only the keeper uses.

weir_framework::codes! {
    INVALID_CONFIG = BAD_REQUEST, "Invalid configuration",
        "Correct the field that `details` names.";
    INVALID_MODEL_LABEL = BAD_REQUEST, "Unknown model label",
        "Use a configured model label, or register an inference profile.";
    UNKNOWN_PRICE = BAD_REQUEST, "The model has no price",
        "Import a price, or set `unpriced: zero` for the org.";
    QUOTA_EXCEEDED = TOO_MANY_REQUESTS, "Budget exceeded",
        "Wait for the time in `Retry-After`, or raise the quota.";
}

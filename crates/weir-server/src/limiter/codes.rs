//! Error codes that only the limiter uses.

weir_framework::codes! {
    NO_LIMITS = NOT_FOUND, "No limits are set for this",
        "Set limits for the system, the resource or the entity, or send `limits` along.";
    NOT_A_LEASE = NOT_FOUND, "This is not a lease of this namespace",
        "Send the `lease` that acquire answered, to the namespace that it is of.";
    LEASE_EXPIRED = GONE, "The lease can no longer be settled",
        "Settle leases before `expires_at`, or ask for a longer `lease_ttl_secs`.";
}

//! Error codes that only the limiter uses.

weir_framework::codes! {
    NO_LIMITS = NOT_FOUND, "No limits apply to this entity and resource",
        "Set limits for the system, the resource or the entity, or send `limits` with the request.";
    UNKNOWN_ATTRIBUTE = CONFLICT, "The table has an attribute that Weir does not know",
        "Another program wrote `attribute` to the config level or bucket that `item` names, and has to remove it: Weir neither ignores nor overwrites it.";
    NOT_A_LEASE = NOT_FOUND, "Not a lease of this namespace",
        "Send the `lease` that acquire returned, to the namespace that issued it.";
    LEASE_EXPIRED = GONE, "The lease has expired",
        "Settle leases before `expires_at`, or request a longer `lease_ttl_secs`.";
}

//! Error codes that only practice uses.

weir_framework::codes! {
    DAILY_LIMIT_EXCEEDED = TOO_MANY_REQUESTS, "Daily limit exceeded",
        "Wait for the time in `Retry-After`, or move the user to a larger plan.";
    NOT_ALLOWED = FORBIDDEN, "The user may not do this",
        "Activate the user, or move the user to a plan that allows it.";
    LEASE_LOST = CONFLICT, "The worker no longer holds the job",
        "Drop the work and claim another job.";
}

"""What schemathesis cannot know from the description: the formats `scope` and `cursor`, and rules."""

import schemathesis
from hypothesis import strategies as st
from schemathesis.openapi.checks import RejectedPositiveData

TENANT = r"(org|ns|owner):(read:)?[A-Za-z0-9._~-]{1,40}"
SCOPE = rf"(admin|{TENANT})( (admin|{TENANT})){{0,3}}"

schemathesis.openapi.format("scope", st.from_regex(SCOPE, fullmatch=True))
schemathesis.openapi.format("time-zone", st.sampled_from(["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]))


NS = "/v1/namespaces/{ns}"
LEVELS = ["limits/system", "limits/resources/{r}", "limits/entities/{id}/{r}"]
# Rules between fields, or between a field and what is stored, which a schema cannot say: for each
# operation the fields that a 400 may then name.
RULES = {
    # An amount is of a limit there is and at most its capacity; two limits have two names.
    f"POST {NS}/acquire": {"consume", "limits"},
    f"GET {NS}/availability": {"consume"},
    f"POST {NS}/entities/{{id}}/buckets/{{r}}/top-up": {"amount", "amounts"},
    # Nothing is given back that is not held.
    f"POST {NS}/leases/{{lease}}/adjust": {"limit", "lease", "consume"},
    f"POST {NS}/leases/{{lease}}/release": {"limit", "lease", "consume"},
    # Nobody is their own parent, and who cascades has one.
    f"PUT {NS}/entities/{{id}}": {"parent", "cascade"},
    f"PUT {NS}/entities/{{id}}/parent": {"parent"},
    # Somebody or something is named, and the time is not too long.
    f"GET {NS}/usage": {"usage", "from", "entity"},
    f"GET {NS}/usage/summary": {"usage", "from", "entity"},
    # A level says something; two limits have two names.
    **{f"PUT {NS}/{level}": {"limits"} for level in LEVELS},
}
# What the keeper is told has to fit its catalogue, its org, its clock and itself: any field may be wrong.
KEEPER = ("/api/v1/", "/auth/")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failure is one, seen with what the description cannot say."""
    if not isinstance(failure, RejectedPositiveData):
        return True
    if case.operation.path.startswith(KEEPER) and case.operation.method.upper() != "GET":
        return False
    field = response.json().get("details", {}).get("field")
    if case.operation.path.startswith(KEEPER) and field in {"date", "from", "to"}:
        return False
    # Only the server makes cursors, and each is for one list: a made-up one is refused.
    if field == "cursor" and "cursor" in (case.query or {}):
        return False
    return field not in RULES.get(case.operation.label, set())

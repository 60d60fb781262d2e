"""What schemathesis cannot know from the description: the formats `scope` and `cursor`."""

import schemathesis
from hypothesis import strategies as st
from schemathesis.openapi.checks import RejectedPositiveData

TENANT = r"(org|ns|owner):(read:)?[A-Za-z0-9._~-]{1,40}"
SCOPE = rf"(admin|{TENANT})( (admin|{TENANT})){{0,3}}"

schemathesis.openapi.format("scope", st.from_regex(SCOPE, fullmatch=True))


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Only the server makes cursors, and each is for one list: a made-up one is refused with 400."""
    if not isinstance(failure, RejectedPositiveData) or "cursor" not in (case.query or {}):
        return True
    return response.json().get("details", {}).get("field") != "cursor"

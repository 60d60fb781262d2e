"""What schemathesis cannot know from the description: formats, what fits what is there, and rules."""

import functools
import itertools
import json
import re

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData

TENANT = r"(org|ns):[A-Za-z0-9._~-]{1,40}(:read)?"
# Nobody listens there, so that a replay ends at once; the run allows these addresses.
URL = r"https?://127\.0\.0\.[1-9]:[1-9]/[A-Za-z0-9/_.?=-]{0,200}"
SCOPE = rf"(admin|{TENANT})( (admin|{TENANT})){{0,3}}"

schemathesis.openapi.format("scope", st.from_regex(SCOPE, fullmatch=True))
schemathesis.openapi.format("webhook-url", st.from_regex(URL, fullmatch=True))
schemathesis.openapi.format("time-zone", st.sampled_from(["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]))


NS = "/v1/namespaces/{ns}"
LEVELS = ["limits/system", "limits/resources/{r}", "limits/entities/{id}/{r}"]
ORG = "/api/v1/orgs/{org}"
APP = f"{ORG}/apps/{{app}}"
BATCHES = {f"POST {APP}/{what}/batch" for what in ("costs", "usage")}
OVERRIDES = {"overrides.agg_shard_count", "overrides.refresh_interval_secs"}
# Labels of the catalogue, and a limit of the buckets that are there.
LABELS = ["premium", "standard"]
LIMIT = "rpm"
# An entity, and a resource, that only fitted requests name.
STEADY = "steady"
# The org whose quotas are its apps'.
ORG_OF_APPS = "660e8400-e29b-41d4-a716-446655440001"
# Just before the clock of the server stopped.
MOMENT = "2026-01-15T11:59:59Z"


@functools.cache
def file_of(name):
    """Values that only this run knows, over and over."""
    with open(f"{name}.dict", encoding="utf-8") as lines:
        return itertools.cycle([json.loads(line) for line in lines])


def body_fits(change):
    """What changes the body alone, if there is one to change."""

    def fit(case):
        if isinstance(case.body, dict):
            case.body = change(case.body)

    return fit


def chain(body):
    """A chain has labels of the catalogue, each once, and a quota for each."""
    amounts = itertools.cycle((body.get("quotas") or {"": 1}).values())
    labels = LABELS[: len(body.get("model_ordering") or [])]
    body = {name: value for name, value in body.items() if name not in ("model_ordering", "quotas")}
    return body | ({"model_ordering": labels, "quotas": dict(zip(labels, amounts))} if labels else {})


def chain_of_app(case):
    """An app has a chain where the quotas are the apps', and shards are the org's."""
    if isinstance(case.body, dict):
        case.path_parameters["org"] = ORG_OF_APPS
        overrides = {**(case.body.get("overrides") or {}), "agg_shard_count": None}
        case.body = {**chain(case.body), "overrides": overrides}


def named_once(body):
    """A model has one of its two names."""
    names = [name for name in ("model_id", "bedrock_model_id") if body.get(name)]
    body = {name: value for name, value in body.items() if name not in names[1:]}
    return body if names else {**body, "model_id": "m"}


def submission(body):
    """A request that was not submitted before, of a label of the chain, at a time that counters are open for."""
    number = next(numbers)
    request_id = f"{number:08x}-0000-4000-8000-{number:012x}"
    return {**named_once(body), "request_id": request_id, "model_label": LABELS[0], "timestamp": MOMENT}


def profile(body):
    """Labels of the catalogue are everybody's."""
    return {**body, "profile_label": "ours"} if body["profile_label"] in LABELS else body


def steady(field=None):
    """A lease or a bucket that nobody removes, a call that was not made before, and amounts of a limit there is."""

    def fit(case):
        known = {"ns": "default", "id": STEADY, "r": STEADY}
        if "lease" in case.path_parameters:
            known["lease"] = next(file_of("leases"))
        case.path_parameters.update({name: known[name] for name in case.path_parameters})
        if "Idempotency-Key" in case.headers:
            case.headers["Idempotency-Key"] = f"key-{next(numbers)}"
        if field and isinstance(case.body, dict):
            whose = {"entity": STEADY, "resource": STEADY} if "entity" in case.body else {}
            amount = next(iter(case.body.get(field, {}).values()), 1)
            case.body = case.body | whose | {field: {LIMIT: max(-2, min(amount, 9))}}

    return fit


# How what the description allows is made to fit what is there.
FITS = {
    f"PUT {ORG}": body_fits(chain),
    f"PUT {APP}": chain_of_app,
    f"POST {ORG}/simulate": body_fits(lambda body: chain(body) | {"date": "today"}),
    **{f"POST {APP}/{what}": body_fits(submission) for what in ("costs", "usage")},
    **{batch: body_fits(lambda body: {"requests": [*map(submission, body["requests"])]}) for batch in BATCHES},
    f"POST {APP}/inference-profiles": body_fits(profile),
    "POST /api/v1/prices": body_fits(lambda body: body | {"prices": [*map(named_once, body["prices"])]}),
    "POST /auth/token": body_fits(
        lambda body: body | {"client_id": next(file_of("clients")), "client_secret": next(file_of("secrets"))}
    ),
    "POST /auth/refresh": body_fits(lambda body: {"refresh_token": next(file_of("refreshes"))}),
    f"POST {NS}/acquire": steady("consume"),
    f"POST {NS}/leases/{{lease}}/adjust": steady("adjust"),
    f"POST {NS}/leases/{{lease}}/release": steady("release"),
    f"POST {NS}/leases/{{lease}}/commit": steady("actual"),
    f"POST {NS}/leases/{{lease}}/rollback": steady(),
    f"POST {NS}/entities/{{id}}/buckets/{{r}}/top-up": steady("amounts"),
    f"POST {NS}/entities/{{id}}/buckets/{{r}}/reset": steady(),
}
# Every so many are left as they are.
UNFIT_EVERY = 4
numbers = itertools.count(1)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Most of what the description allows also fits what is there, so that handlers are reached."""
    fit = FITS.get(case.operation.label)
    allowed = case.meta is not None and case.meta.generation.mode.is_positive
    if fit is None and (case.path_parameters or {}).get("id") == STEADY:
        # It was read in an answer, and would be changed or removed here.
        case.path_parameters["id"] = "user-1"
    elif fit and allowed and next(numbers) % UNFIT_EVERY:
        fit(case)


RECORDINGS = {
    "POST /v1/reviews",
    "PUT /v1/reviews/{id}",
    "POST /v1/reviews/{id}/responses",
    "POST /v1/reviews/{id}/complete",
}
RECORDED = {"created_at", "review_id", "model_id", "finding_id", "line_end", "consensus_id", "members", "query"}

PRACTICE = "/v1/practice"
PRACTICE_USER = f"{PRACTICE}/users/{{id}}"

# Rules between fields, or between a field and what is stored, which a schema cannot say: for each
# operation the fields that a 400 may then name.
RULES = {
    # An amount is of a limit there is and at most its capacity; two limits have two names.
    f"POST {NS}/acquire": {"consume", "limits"},
    f"GET {NS}/availability": {"consume"},
    f"POST {NS}/entities/{{id}}/buckets/{{r}}/top-up": {"amount", "amounts"},
    # Nothing is given back that is not held, and an adjustment is not zero.
    f"POST {NS}/leases/{{lease}}/adjust": {"limit", "lease", "consume", "adjust"},
    f"POST {NS}/leases/{{lease}}/release": {"limit", "lease", "consume"},
    f"POST {NS}/leases/{{lease}}/commit": {"limit", "lease"},
    # Nobody is their own parent, and who cascades has one.
    f"PUT {NS}/entities/{{id}}": {"parent", "cascade"},
    f"PUT {NS}/entities/{{id}}/parent": {"parent"},
    # Somebody or something is named, and the time is not too long.
    f"GET {NS}/usage": {"usage", "from", "entity"},
    f"GET {NS}/usage/summary": {"usage", "from", "entity"},
    # A level says something; two limits have two names.
    **{f"PUT {NS}/{level}": {"limits"} for level in LEVELS},
    # A chain has labels of the catalogue, each once, and a quota for each, and either the org or its apps have them; shards
    # are for ever, and the org's alone; two names of one interval say the same.
    **{f"PUT {whose}": {"quota_scope", "model_ordering", "quotas", *OVERRIDES} for whose in (ORG, APP)},
    # A chain is moved where its quotas are, and to one of its labels.
    **{f"{verb} {whose}/sticky": {"scope", "model_label"} for verb in ("PUT", "DELETE") for whose in (ORG, APP)},
    # A label of the chain, which wants a region if it is a profile; a time that the counters are still open for; one name of
    # the model, and its vendor if several have it; and not too many tokens at a high price.
    **{
        f"POST {APP}/{what}": {"model_label", "calling_region", "timestamp", "model_id", "vendor", "cost_usd_micros"}
        for what in ("costs", "usage")
    },
    # Labels of the catalogue are everybody's, and a profile stands for a model.
    f"POST {APP}/inference-profiles": {"profile_label", "model_id"},
    # A region and a vendor are of a model.
    "GET /api/v1/prices": {"region", "vendor"},
    # A model has one name and one price, and the past has its prices.
    "POST /api/v1/prices": {"prices", "from", "model_id"},
    # In order, not too far apart, and not in the future.
    **{f"GET {whose}/aggregates": {"from", "to"} for whose in (ORG, APP)},
    **{f"GET {whose}/aggregates/{{date}}": {"date"} for whose in (ORG, APP)},
    **{f"GET {whose}/aggregates/{{date}}/hours": {"date"} for whose in (ORG, APP)},
    # A chain as an org has it, on a day that has begun.
    f"POST {ORG}/simulate": {"date", "model_ordering", "quotas", *OVERRIDES},
    # A name that begins like an app's is no name of an org.
    "GET /api/v1/budgets": {"org"},
    # Each level has parts of its own; two limits have two names.
    f"POST {NS}/limits/plan": {"resource", "entity", "limits"},
    # The ids of events are numbers.
    "GET /v1/live": {"Last-Event-ID"},
    # One of the two is named: the token, or the client whose tokens all go.
    "POST /auth/revoke": {"token", "client_id"},
    # A form has no null: it sends the word.
    "POST /auth/refresh": {"grant_type"},
    # In order, and not too far apart.
    "GET /v1/reviews/compare": {"from", "to"},
    "POST /v1/reviews/rollups/verify": {"from", "to"},
    # One of the two is named.
    "GET /v1/reviews/findings": {"severity"},
    # Texts are bounded in bytes, a list is by one of its parameters, and numbers are those that a store has.
    f"POST {PRACTICE}/users": {"email", "picture_url"},
    f"GET {PRACTICE}/users": {"email"},
    f"PATCH {PRACTICE_USER}": {"email", "picture_url"},
    f"POST {PRACTICE_USER}/usage": {"metadata", "idempotency_key"},
    f"POST {PRACTICE}/plans": {"description"},
    f"PUT {PRACTICE}/plans/{{id}}": {"description"},
    f"PUT {PRACTICE}/tasks/{{id}}": {"result", "traceback"},
    # A tag is there once, and numbers are those that a store has.
    f"POST {PRACTICE}/problems": {"tags", "problem_url", "metadata"},
    f"PATCH {PRACTICE}/problems/{{platform}}/{{problem_id}}": {"tags", "problem_url", "metadata"},
    # A reason is of a problem that can be restored.
    f"DELETE {PRACTICE}/problems/{{platform}}/{{problem_id}}": {"reason"},
    # Two names of one request exclude each other.
    f"POST {PRACTICE}/history": {"idempotency_key", "metadata", "result_summary", "test_results"},
    # Stalled jobs have one status; each type of jobs has fields of its own.
    f"GET {PRACTICE}/jobs/{{type}}": {"status"},
    f"POST {PRACTICE}/jobs/{{type}}": {
        *("idempotency_key", "job_id", "platform", "problem_id", "title", "problem_url", "problem_identifier"),
        *("tags", "language", "solution_code", "constraints"),
    },
    f"POST {PRACTICE}/jobs/{{type}}/{{id}}/complete": {"generator_code", "problem"},
    # A made-up event is of no job.
    f"GET {PRACTICE}/jobs/{{type}}/{{id}}/progress": {"Last-Event-ID"},
    # In order, not too far apart, and of counters that are retained.
    f"GET {PRACTICE}/stats": {"to"},
    f"POST {PRACTICE}/stats/verify": {"date"},
    # A review is not older than reviews are retained; ids are there once; lines are in order; a consensus has findings that
    # are there, of two models; and only SARIF has the rest of its response in the query.
    **{recording: RECORDED for recording in RECORDINGS},
}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failure is one, seen with what the description cannot say."""
    label = case.operation.label
    if isinstance(failure, AcceptedNegativeData):
        # What is too large is refused, with a status of its own.
        if response.status_code == 413:
            return False
        # In a batch what is wrong is refused by itself, and the batch says so.
        return not (label in BATCHES and response.status_code == 207 and response.json()["failed"] > 0)
    if not isinstance(failure, RejectedPositiveData):
        return True
    # A user of a small plan has soon used the limit of the day.
    if response.status_code == 429 and label == f"POST {PRACTICE_USER}/usage":
        return False
    # A lease ends by itself, the shortest after a second.
    if response.status_code == 410 and "/leases/" in label:
        return False
    field = response.json().get("details", {}).get("field")
    # Only the server makes cursors, and each is for one list: a made-up one is refused.
    if field == "cursor" and "cursor" in (case.query or {}):
        return False
    # SARIF has a description of its own, which ours does not repeat.
    if case.media_type == "application/sarif+json":
        return False
    # The path of a field that is inside of others ends with its name.
    if label in RECORDINGS and isinstance(field, str):
        field = re.sub(r"\[\d+\]", "", field).rsplit(".", 1)[-1]
    return field not in RULES.get(label, set())

"""Reviews of pull requests by several models: recording, reading, judging, comparing."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, Literal

from .clock import query_time
from .core import ForeignResponse, Program, Request, Response, path
from .drivers import Awaiting, Blocking, aeach, awaiting, blocking, each
from .session import Pager, Session, delete, done, get, post, texts
from .types import Comparison, Consensus, Finding, ModelResponse, Review, ReviewCost

ROOT = "/v1/reviews"
Part = Literal["responses", "findings", "consensus"]


class ReviewCalls:
    """Reviews, as programs."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def record(
        self, review: Mapping[str, Any], *, review_id: str | None = None, replace: bool = False
    ) -> Program[Review]:
        """Record a whole review in one request, and return it with its consensus counted.

        `review` has the fields of the API: `owner`, `repo`, `pr_number`, `pr_title`, `pr_url`, `responses` with their
        `findings`. The id is made here when there is none, so that a repeated request records nothing twice. Other content
        under a known id is refused, unless `replace`.
        """
        chosen = review_id or review.get("review_id") or str(uuid.uuid4())
        body = {**review, "review_id": chosen}
        request = Request("POST", ROOT, params=texts({"replace": replace or None}), json=body, idempotent=True)
        return (yield from self.session.fetch(Review, request))

    def open(self, review: Mapping[str, Any], *, review_id: str | None = None) -> Program[Review]:
        """Open a review whose models finish at different times; `add_response` and `complete` follow."""
        return (yield from self.record({**review, "status": "in_progress"}, review_id=review_id))

    def add_response(self, review_id: str, response: Mapping[str, Any]) -> Program[ModelResponse]:
        """Add the response of one model to an open review; adding the same one again changes nothing."""
        where = path(ROOT + "/{}/responses", review_id)
        return (yield from self.session.fetch(ModelResponse, post(where, dict(response), idempotent=True)))

    def complete(self, review_id: str, *, status: Literal["completed", "failed"] = "completed") -> Program[Review]:
        """Complete an open review."""
        where = path(ROOT + "/{}/complete", review_id)
        return (yield from self.session.fetch(Review, post(where, {"status": status}, idempotent=True)))

    def get(self, review_id: str, *, include: Iterable[Part] = ()) -> Program[Review]:
        """Return a review, with the parts that are included."""
        params = {"include": ",".join(include) or None}
        return (yield from self.session.fetch(Review, get(path(ROOT + "/{}", review_id), params)))

    def delete(self, review_id: str) -> Program[None]:
        """Delete a review with everything that belongs to it."""
        yield from self.session.exchange(delete(path(ROOT + "/{}", review_id)), done)

    def report(self, review_id: str, *, format: Literal["markdown", "text"] = "markdown") -> Program[str]:
        """Return a review as a report for people."""
        request = get(path(ROOT + "/{}/report", review_id), {"format": format})
        return (yield from self.session.exchange(request, read_text))

    def sarif(self, review_id: str, *, findings: bool = False) -> Program[dict[str, Any]]:
        """Return the consensus of the models as SARIF, or with `findings` every finding."""
        request = get(path(ROOT + "/{}/sarif", review_id), {"findings": findings or None})
        return (yield from self.session.fetch(dict[str, Any], request))

    def feedback(
        self, review_id: str, model: str, finding: str, verdict: Literal["accepted", "dismissed"], *, by: str
    ) -> Program[Finding]:
        """Say whether a finding is right."""
        where = path(ROOT + "/{}/findings/{}/{}/feedback", review_id, model, finding)
        request = post(where, {"verdict": verdict, "by": by}, idempotent=True)
        return (yield from self.session.fetch(Finding, request))

    def compare(
        self,
        models: Iterable[str] = (),
        *,
        since: date | None = None,
        until: date | None = None,
        repo: str | None = None,
    ) -> Program[Comparison]:
        """Compare models over days: the last 90 by default, all repositories unless `repo` names one."""
        params = {"models": ",".join(models) or None, "from": since, "to": until, "repo": repo}
        return (yield from self.session.fetch(Comparison, get(ROOT + "/compare", params)))

    def list(
        self,
        *,
        repo: str | None = None,
        user: str | None = None,
        day: date | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Pager[Review]:
        """List reviews, newest first: all of them, or those of one repository (`owner/repo`), user or day."""
        chosen = [place for place in (repo, user, day) if place is not None]
        if len(chosen) > 1:
            raise ValueError("list by one of repo, user and day")
        where = ROOT
        if repo is not None:
            where = path(ROOT + "/repos/{}/{}", *owner_and_repo(repo))
        elif user is not None:
            where = path(ROOT + "/users/{}", user)
        elif day is not None:
            where = path(ROOT + "/dates/{}", day.isoformat())
        return self.session.pager(Review, where, times(since, until))

    def responses(
        self, model: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> Pager[ModelResponse]:
        """List the responses of a model, newest first."""
        return self.session.pager(ModelResponse, path(ROOT + "/models/{}", model), times(since, until))

    def findings(
        self,
        review_id: str | None = None,
        *,
        severity: str | None = None,
        category: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Pager[Finding]:
        """List the findings of a review, or across reviews those of a severity or category."""
        if review_id is not None:
            if severity or category:
                raise ValueError("list by a review, or by severity or category")
            return self.session.pager(Finding, path(ROOT + "/{}/findings", review_id))
        params = {"severity": severity, "category": category, **times(since, until)}
        return self.session.pager(Finding, ROOT + "/findings", params)

    def consensus(
        self, review_id: str | None = None, *, since: datetime | None = None, until: datetime | None = None
    ) -> Pager[Consensus]:
        """List the issues that several models found, in one review or in all of them."""
        if review_id is not None:
            return self.session.pager(Consensus, path(ROOT + "/{}/consensus", review_id))
        return self.session.pager(Consensus, ROOT + "/consensus", times(since, until))

    def costs(self, repo: str, *, since: datetime | None = None, until: datetime | None = None) -> Pager[ReviewCost]:
        """List the cost of each response in a repository (`owner/repo`)."""
        where = path(ROOT + "/repos/{}/{}/costs", *owner_and_repo(repo))
        return self.session.pager(ReviewCost, where, times(since, until))


def read_text(response: Response) -> str:
    """Read a report for people. A page is none: it comes from a proxy."""
    if "html" in response.headers.get("content-type", ""):
        raise ForeignResponse(f"status {response.status} with a page in HTML")
    return response.body.decode()


def owner_and_repo(repo: str) -> tuple[str, str]:
    """Return the two parts of `owner/repo`."""
    owner, slash, name = repo.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise ValueError(f"{repo!r} is not of the form owner/repo")
    return owner, name


def times(since: datetime | None, until: datetime | None) -> dict[str, Any]:
    """Return the parameters of a time range."""
    return {"from": query_time(since), "to": query_time(until)}


class Reviews(Blocking[ReviewCalls]):
    """Reviews of pull requests."""

    record = blocking(ReviewCalls.record)
    open = blocking(ReviewCalls.open)
    add_response = blocking(ReviewCalls.add_response)
    complete = blocking(ReviewCalls.complete)
    get = blocking(ReviewCalls.get)
    delete = blocking(ReviewCalls.delete)
    report = blocking(ReviewCalls.report)
    sarif = blocking(ReviewCalls.sarif)
    feedback = blocking(ReviewCalls.feedback)
    compare = blocking(ReviewCalls.compare)
    list = each(ReviewCalls.list)
    responses = each(ReviewCalls.responses)
    findings = each(ReviewCalls.findings)
    consensus = each(ReviewCalls.consensus)
    costs = each(ReviewCalls.costs)


class AsyncReviews(Awaiting[ReviewCalls]):
    """Reviews of pull requests, for asyncio."""

    record = awaiting(ReviewCalls.record)
    open = awaiting(ReviewCalls.open)
    add_response = awaiting(ReviewCalls.add_response)
    complete = awaiting(ReviewCalls.complete)
    get = awaiting(ReviewCalls.get)
    delete = awaiting(ReviewCalls.delete)
    report = awaiting(ReviewCalls.report)
    sarif = awaiting(ReviewCalls.sarif)
    feedback = awaiting(ReviewCalls.feedback)
    compare = awaiting(ReviewCalls.compare)
    list = aeach(ReviewCalls.list)
    responses = aeach(ReviewCalls.responses)
    findings = aeach(ReviewCalls.findings)
    consensus = aeach(ReviewCalls.consensus)
    costs = aeach(ReviewCalls.costs)

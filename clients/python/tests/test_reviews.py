"""Reviews are recorded once, read back whole, judged and compared."""

import uuid
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

import weir
from server import ADMIN_KEY, Proxy, Server


def review(owner: str, number: int = 42) -> dict[str, Any]:
    def finding(title: str, line: int, **more: str) -> dict[str, Any]:
        where = {"file_path": "src/login.py", "line_start": line, "line_end": line, "category": "security"}
        return {"finding_id": "f1", "title": title, "description": title, "severity": "high", **where, **more}

    def response(model: str, *findings: dict[str, Any], status: str = "success") -> dict[str, Any]:
        figures = {"input_tokens": 5200, "output_tokens": 640, "latency_ms": 8400, "cost_usd": "0.0129"}
        return {"model_id": model, "status": status, "findings": list(findings), **figures}

    return {
        "owner": owner,
        "repo": "shop",
        "pr_number": number,
        "pr_title": "Add login",
        "pr_url": f"https://github.com/{owner}/shop/pull/{number}",
        "files": ["src/login.py"],
        "requested_by": "octocat",
        "responses": [
            response("gpt-5", finding("SQL injection in `find_user`", 12)),
            response("claude", finding("`find_user` allows SQL injection", 13, severity="critical")),
            response("llama", status="timeout"),
        ],
    }


@pytest.fixture
def owner() -> str:
    return "owner-" + uuid.uuid4().hex[:8]


def test_a_review_is_recorded_in_one_call_and_read_back(client: weir.Client, owner: str) -> None:
    recorded = client.reviews.record(review(owner))
    assert (recorded.consensus_findings, recorded.total_findings) == (1, 2)
    assert recorded.total_cost_usd == Decimal("0.0387")
    again = client.reviews.record(review(owner), review_id=recorded.review_id)
    assert again == recorded
    other = {**review(owner), "pr_title": "Add logout"}
    with pytest.raises(weir.Conflict):
        client.reviews.record(other, review_id=recorded.review_id)
    assert client.reviews.record(other, review_id=recorded.review_id, replace=True).pr_title == "Add logout"
    whole = client.reviews.get(recorded.review_id, include=["responses", "findings", "consensus"])
    assert [response.model_id for response in whole.responses or []] == ["claude", "gpt-5", "llama"]
    assert [finding.in_consensus for finding in whole.findings or []] == [True, True]
    agreed = list(client.reviews.consensus(recorded.review_id))
    assert [(one.severity, one.agreeing_models) for one in agreed] == [("critical", ["claude", "gpt-5"])]
    assert agreed == whole.consensus
    assert "`find_user` allows SQL injection" in client.reviews.report(recorded.review_id, format="text")
    assert client.reviews.report(recorded.review_id).startswith("## 1 issue that models agree on")
    assert client.reviews.sarif(recorded.review_id)["version"] == "2.1.0"
    client.reviews.delete(recorded.review_id)
    with pytest.raises(weir.NotFound):
        client.reviews.get(recorded.review_id)


def test_a_lost_response_records_once(server: Server, proxy: Proxy, owner: str) -> None:
    fates = iter(["lose", "pass", "pass"])
    proxy.fate = lambda _: next(fates)
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as through:
        recorded = through.reviews.record(review(owner))
        listed = list(through.reviews.list(repo=f"{owner}/shop"))
    assert [one.review_id for one in listed] == [recorded.review_id]


def test_models_finish_at_different_times(client: weir.Client, owner: str) -> None:
    whole = review(owner)
    responses = whole.pop("responses")
    opened = client.reviews.open(whole)
    assert opened.status == "in_progress"
    for response in responses:
        assert client.reviews.add_response(opened.review_id, response).model_id == response["model_id"]
    done = client.reviews.complete(opened.review_id)
    assert (done.status, done.consensus_findings) == ("completed", 1)


def test_a_person_judges_and_models_are_compared(server: Server, client: weir.Client, owner: str) -> None:
    recorded = client.reviews.record(review(owner))
    judged = client.reviews.feedback(recorded.review_id, "gpt-5", "f1", "accepted", by="octocat")
    assert judged.feedback is not None
    assert (judged.feedback.verdict, judged.feedback.by) == ("accepted", "octocat")
    server.admin("POST", "/v1/jobs/reviews-rollup/run")
    comparison = client.reviews.compare(repo=f"{owner}/shop")
    by_model = {model.model_id: model for model in comparison.models}
    assert by_model["gpt-5"].cost_usd == Decimal("0.0129")
    assert by_model["gpt-5"].acceptance_rate.value == 1.0
    assert by_model["llama"].success_rate.value == 0.0
    assert {tuple(pair.models) for pair in comparison.pairs} >= {("claude", "gpt-5")}
    assert [model.model_id for model in client.reviews.compare(["gpt-5"], repo=f"{owner}/shop").models] == ["gpt-5"]


def test_lists_go_through_all_pages(client: weir.Client, proxy: Proxy, owner: str) -> None:
    for number in range(1, 61):
        fields = {**review(owner, number), "responses": []}
        client.reviews.record(fields, review_id=f"{owner}-{number}")
    now = datetime.now(timezone.utc)
    with weir.Client(proxy.url, api_key=ADMIN_KEY) as through:
        numbers = [one.pr_number for one in through.reviews.list(repo=f"{owner}/shop")]
        assert sorted(numbers) == list(range(1, 61))
        assert len(proxy.seen) > 1
    by_user = client.reviews.list(user="octocat", since=now - timedelta(minutes=5))
    assert {one.review_id for one in by_user} >= {f"{owner}-{number}" for number in range(1, 61)}
    assert not list(client.reviews.list(repo=f"{owner}/shop", until=now - timedelta(days=1)))
    today = client.reviews.list(day=now.date())
    assert next(today).owner


def test_lists_across_reviews_name_them(client: weir.Client, owner: str) -> None:
    recorded = client.reviews.record(review(owner))
    mine = [one for one in client.reviews.findings(severity="critical") if one.review_id == recorded.review_id]
    assert [(one.owner, one.model_id) for one in mine] == [(owner, "claude")]
    assert {one.model_id for one in client.reviews.findings(recorded.review_id)} == {"gpt-5", "claude"}
    assert any(one.review_id == recorded.review_id for one in client.reviews.responses("gpt-5"))
    assert any(one.review_id == recorded.review_id for one in client.reviews.consensus())
    costs = list(client.reviews.costs(f"{owner}/shop"))
    assert sum((cost.cost_usd for cost in costs), Decimal(0)) == Decimal("0.0387")


def test_bad_input_is_refused_with_its_field(client: weir.Client, owner: str) -> None:
    wrong = review(owner)
    wrong["responses"][0]["findings"][0]["severity"] = "terrible"
    with pytest.raises(weir.InvalidRequest, match="severity"):
        client.reviews.record(wrong)
    with pytest.raises(weir.InvalidRequest, match="colour"):
        client.reviews.record({**review(owner), "colour": "red"})
    with pytest.raises(ValueError, match="owner/repo"):
        client.reviews.list(repo="shop")
    with pytest.raises(ValueError, match="one of"):
        client.reviews.list(repo="a/b", user="c")

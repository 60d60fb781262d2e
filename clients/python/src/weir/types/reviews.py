"""Responses of the reviews service. Costs are exact decimal dollars, as the API sends them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal


@dataclass(frozen=True, kw_only=True)
class ModelResponse:
    """The response of one model to a pull request. Lists across reviews also name the review."""

    model_id: str
    status: str
    findings_count: int
    input_tokens: int
    output_tokens: int
    latency_ms: int
    cost_usd: Decimal
    raw_key: str | None = None
    review_id: str | None = None
    owner: str | None = None
    repo: str | None = None
    pr_number: int | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """A person's verdict on a finding."""

    verdict: str
    by: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An issue that one model found. Lists across reviews also name the review."""

    finding_id: str
    model_id: str
    severity: str
    file_path: str
    line_start: int
    line_end: int
    title: str
    description: str
    in_consensus: bool
    category: str | None = None
    suggestion: str | None = None
    rule: str | None = None
    feedback: Feedback | None = None
    review_id: str | None = None
    owner: str | None = None
    repo: str | None = None
    pr_number: int | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Consensus:
    """An issue that several models found."""

    consensus_id: str
    severity: str
    file_path: str
    line_start: int
    line_end: int
    title: str
    merged_description: str
    agreeing_models: list[str]
    agreement_count: int
    agreement_ratio: float
    models_asked: int
    confidence: str
    finding_ids: list[str]
    category: str | None = None
    review_id: str | None = None
    owner: str | None = None
    repo: str | None = None
    pr_number: int | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Review:
    """The review of a pull request; its parts are there if they were included."""

    review_id: str
    owner: str
    repo: str
    pr_number: int
    pr_title: str
    pr_url: str
    status: str
    created_at: datetime
    total_cost_usd: Decimal
    total_findings: int
    consensus_findings: int
    models_used: list[str]
    requested_by: str | None = None
    files: list[str] | None = None
    responses: list[ModelResponse] | None = None
    findings: list[Finding] | None = None
    consensus: list[Consensus] | None = None


@dataclass(frozen=True, kw_only=True)
class ReviewCost:
    """The cost of one model's response."""

    review_id: str
    owner: str
    repo: str
    pr_number: int
    created_at: datetime
    model_id: str
    cost_usd: Decimal
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure with the size of its sample; `value` is `None` where it is undefined."""

    sample: int
    value: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class FindingCounts:
    """Counts of findings."""

    findings: int
    in_consensus: int
    only_it: int
    accepted: int
    dismissed: int


@dataclass(frozen=True, kw_only=True)
class ModelComparison:
    """The figures of one model: cost, speed, agreement and acceptance."""

    model_id: str
    reviews: int
    successes: int
    errors: int
    timeouts: int
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal
    findings: FindingCounts
    success_rate: Estimate
    findings_per_review: Estimate
    consensus_share: Estimate
    acceptance_rate: Estimate
    cost_per_consensus_finding_usd: Estimate
    latency_mean_ms: Estimate
    is_saturated: bool
    latency_p50_ms: int | None = None
    latency_p95_ms: int | None = None


@dataclass(frozen=True, kw_only=True)
class PairComparison:
    """How far two models agree."""

    models: list[str]
    reviews: int
    shared: int
    only_first: int
    only_second: int
    positive_agreement: Estimate
    kappa: Estimate


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Models compared over days."""

    days: int
    to: date
    models: list[ModelComparison]
    models_left_out: int
    pairs: list[PairComparison] = field(default_factory=list)
    repo: str | None = None

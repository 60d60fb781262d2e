"""Responses of the keeper. Amounts of money are `MicroUsd`: whole micro-dollars with the dollars as `.usd`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime

from ..money import MicroUsd


@dataclass(frozen=True, kw_only=True)
class RecommendedModel:
    """The model to use for the next call, and why."""

    label: str
    model_id: str
    reason: str
    description: str
    vendor: str | None = None


@dataclass(frozen=True, kw_only=True)
class ModelQuota:
    """Spend and quota of one model."""

    spend_usd_micros: MicroUsd
    quota_usd_micros: MicroUsd
    quota_pct: float
    status: str


@dataclass(frozen=True, kw_only=True)
class QuotaStatus:
    """The quotas of the chain, `models_status` in its order."""

    scope: str
    mode: str
    spend_usd_micros: MicroUsd
    quota_usd_micros: MicroUsd
    quota_pct: float
    sticky_fallback_active: bool
    models_status: dict[str, ModelQuota]
    current_model: str | None = None
    projected_exhaustion_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ModelPricing:
    """Prices of a million tokens, in micro-dollars."""

    input_price_usd_micros_per_1m: MicroUsd
    output_price_usd_micros_per_1m: MicroUsd
    source: str
    version: str
    cache_read_price_usd_micros_per_1m: MicroUsd | None = None
    cache_write_price_usd_micros_per_1m: MicroUsd | None = None


@dataclass(frozen=True, kw_only=True)
class ClientGuidance:
    """How long to use a selection."""

    cache_duration_secs: int
    check_frequency: str
    explanation: str


@dataclass(frozen=True, kw_only=True)
class ModelSelection:
    """The answer to "which model may I use?"."""

    org_id: str
    app_id: str
    app_name: str
    recommended_model: RecommendedModel
    quota_status: QuotaStatus
    client_guidance: ClientGuidance
    checked_at: datetime
    org_day: date
    pricing: ModelPricing | None = None

    @property
    def label(self) -> str:
        """Label of the model, which reports name."""
        return self.recommended_model.label

    @property
    def model_id(self) -> str:
        """Id of the model at its vendor, which the call names."""
        return self.recommended_model.model_id

    @property
    def reason(self) -> str:
        """Why this model: `NORMAL`, `QUOTA_EXCEEDED_{label}`, `STICKY_FALLBACK` or `MANUAL_OVERRIDE`."""
        return self.recommended_model.reason


@dataclass(frozen=True, kw_only=True)
class UsageSum:
    """Usage and spend."""

    cost_usd_micros: MicroUsd
    input_tokens: int
    output_tokens: int
    cached_read_tokens: int
    cached_write_tokens: int
    requests: int


@dataclass(frozen=True, kw_only=True)
class ModelTotals(UsageSum):
    """Usage, spend and quota of one model on one day."""

    label: str
    quota_usd_micros: MicroUsd
    quota_pct: float
    quota_status: str
    average_cost_per_request: MicroUsd
    model_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class DayTotals:
    """Usage and spend of one day of the org."""

    org_id: str
    date: date
    timezone: str
    quota_scope: str
    totals: UsageSum
    models: dict[str, ModelTotals] = field(default_factory=dict)
    app_id: str | None = None
    current_active_model: str | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """A recorded submission, with its cost; `duplicate` says that it had been recorded before."""

    request_id: str
    duplicate: bool
    cost_usd_micros: MicroUsd
    org_day: date

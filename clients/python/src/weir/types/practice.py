"""Responses of the practice service."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class User:
    """A user of the platform."""

    id: str
    email: str
    name: str
    plan_id: int
    is_active: bool
    is_staff: bool
    created_at: datetime
    updated_at: datetime
    picture_url: str | None = None
    google_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A plan with its daily limits and rights; -1 stands for any number."""

    id: int
    name: str
    max_hints_per_day: int
    max_executions_per_day: int
    max_problems: int
    can_view_all_problems: bool
    can_register_problems: bool
    is_active: bool
    description: str | None = None
    users: int | None = None


@dataclass(frozen=True, kw_only=True)
class TakenUsage:
    """A counted action of a day."""

    action: str
    date: date
    count: int
    limit: int
    resets_at: datetime
    is_repeated: bool
    remaining: int | None = None


@dataclass(frozen=True, kw_only=True)
class ActionUsage:
    """How often a user did an action on a day."""

    action: str
    count: int
    limit: int
    remaining: int | None = None


@dataclass(frozen=True, kw_only=True)
class UserUsage:
    """The usage of a user on a day."""

    date: date
    resets_at: datetime
    actions: list[ActionUsage]


@dataclass(frozen=True, kw_only=True)
class UsageLogEntry:
    """One counted action."""

    action: str
    at: datetime
    problem_id: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run in the history; lists leave out `code` and `test_results`."""

    id: str
    created_at: datetime
    updated_at: datetime
    passed_count: int
    failed_count: int
    total_count: int
    is_code_public: bool
    hints: list[str]
    platform: str | None = None
    problem_number: str | None = None
    problem_title: str | None = None
    language: str | None = None
    user_id: str | None = None
    user_identifier: str | None = None
    code: str | None = None
    test_results: list[Any] | None = None
    result_summary: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ProgressStep:
    """A step of a job; its `id` is its position."""

    id: str
    at: datetime
    step: str
    status: str
    message: str


@dataclass(frozen=True, kw_only=True)
class JobLease:
    """A worker's hold on a job."""

    worker_id: str
    fence: int
    lease_ms: int
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job of script generation or problem extraction."""

    id: str
    type: str
    status: str
    attempts: int
    created_at: datetime
    updated_at: datetime
    tags: list[str] = field(default_factory=list)
    platform: str | None = None
    problem_id: str | None = None
    problem_identifier: str | None = None
    problem_url: str | None = None
    title: str | None = None
    language: str | None = None
    constraints: str | None = None
    solution_code: str | None = None
    generator_code: str | None = None
    error_message: str | None = None
    lease: JobLease | None = None
    last_step: ProgressStep | None = None


@dataclass(frozen=True, kw_only=True)
class ClaimedJob:
    """A job that a worker has claimed, with the fence that every write of the worker carries."""

    job: Job
    fence: int

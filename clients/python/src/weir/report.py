"""The report of one call: its usage, under an id that makes it count once."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Literal

from .clock import query_time
from .core import present, whole_number
from .types import ModelSelection

Status = Literal["OK", "ERROR"]


def report_body(
    model: ModelSelection | str,
    *,
    input_tokens: int,
    output_tokens: int,
    cached_read_tokens: int | None = None,
    cached_write_tokens: int | None = None,
    cost_usd_micros: int | None = None,
    model_id: str | None = None,
    vendor: str | None = None,
    calling_region: str | None = None,
    status: Status = "OK",
    request_id: str | None = None,
    timestamp: datetime | None = None,
) -> dict[str, Any]:
    """Return a report as the API takes it. Refuses values that are wrong for sure here, where the caller can mend them."""
    if isinstance(model, ModelSelection):
        chosen = model.recommended_model
        label, model_id, vendor = chosen.label, model_id or chosen.model_id, vendor or chosen.vendor
    else:
        label = model
    if not label or not isinstance(label, str):
        raise ValueError("model: name a label, or pass the selection")
    if not model_id:
        raise ValueError(
            f"model_id: the label {label!r} alone does not name a model; pass the selection, or a model_id"
        )
    if status not in ("OK", "ERROR"):
        raise ValueError(f"status: {status!r} is neither 'OK' nor 'ERROR'")
    amounts = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cached_read_tokens": cached_read_tokens,
        "cached_write_tokens": cached_write_tokens,
        "cost_usd_micros": cost_usd_micros,
    }
    whole = {name: whole_number(name, amount) for name, amount in present(amounts).items()}
    for name, amount in whole.items():
        if amount < 0:
            raise ValueError(f"{name}: {amount} is negative")
    texts = {"model": label, "model_id": model_id, "vendor": vendor, "calling_region": calling_region}
    for name, text in present(texts).items():
        check_text(name, text)
    return present(
        {
            "request_id": str(uuid.UUID(request_id)) if request_id else str(uuid.uuid4()),
            "model_label": label,
            "model_id": model_id,
            "vendor": vendor,
            "calling_region": calling_region,
            "status": status,
            "timestamp": query_time(timestamp),
            **whole,
        }
    )


def check_text(name: str, text: object) -> None:
    """Refuse a text that cannot be sent: its report would wait in the queue for ever."""
    if not isinstance(text, str):
        raise TypeError(f"{name}: {text!r} is no text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: {text!r} is not Unicode: half of a character") from error

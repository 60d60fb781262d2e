"""Makes dataclasses of JSON, tolerantly: unknown fields are ignored, so a newer server breaks no older client."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from .money import MicroUsd

T = TypeVar("T")


def parse_time(text: str) -> datetime:
    """Return the time that an RFC 3339 text says; it knows its offset."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def decode(kind: type[T], value: Any) -> T:
    """Return the JSON value as `kind`.

    Raises `ValueError` when a required field is missing or a value has another shape.
    """
    try:
        if value is None:
            raise TypeError("nothing")
        return cast(T, _decode(kind, value))
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise ValueError(f"the response is no {getattr(kind, '__name__', kind)}: {error!r}") from error


def _decode(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if kind is Any or value is None:
        return value
    if origin in (Union, types.UnionType):
        inner = [option for option in get_args(kind) if option is not type(None)]
        return _decode(inner[0], value)
    if origin is list:
        return [_decode(get_args(kind)[0], one) for one in value]
    if origin in (dict, Mapping):
        return {name: _decode(get_args(kind)[1], one) for name, one in value.items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass(cast(type[Any], kind), value)
    if kind is datetime:
        return parse_time(value)
    if kind is date:
        return date.fromisoformat(value)
    if kind in (MicroUsd, Decimal, float):
        return kind(value)
    return value


_FIELDS: dict[type[Any], list[tuple[str, Any, bool]]] = {}


def _fields_of(kind: type[Any]) -> list[tuple[str, Any, bool]]:
    """Return the name and type of each field, and whether it is required. Finding the types is slow, so they are kept."""
    if kind not in _FIELDS:
        hints, missing = get_type_hints(kind), dataclasses.MISSING
        _FIELDS[kind] = [
            (field.name, hints[field.name], field.default is missing and field.default_factory is missing)
            for field in dataclasses.fields(kind)
        ]
    return _FIELDS[kind]


def _dataclass(kind: type[Any], value: Mapping[str, Any]) -> Any:
    known = {}
    for name, hint, required in _fields_of(kind):
        given = value.get(name)
        if given is not None:
            known[name] = _decode(hint, given)
        elif required:
            raise KeyError(name)
    return kind(**known)

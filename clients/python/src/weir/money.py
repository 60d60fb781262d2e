"""Amounts of money: whole micro-dollars, exactly as the server counts them."""

from __future__ import annotations

from decimal import Decimal


class MicroUsd(int):
    """A whole number of micro-dollars; `usd` is the same amount in dollars."""

    @property
    def usd(self) -> Decimal:
        """The amount in dollars, exact."""
        return Decimal(int(self)).scaleb(-6)

    def __repr__(self) -> str:
        return f"MicroUsd({int(self)})"

"""Amounts that hooks add up within a step, for those whose zero is to be told from not measured."""

from __future__ import annotations


class Tally:
    """Adds up amounts by name. The first step tells all names, each later one those that moved.

    So a recording that lacks a name was made without the hook, and one that has it means zero wherever
    it says nothing.
    """

    def __init__(self, *names: str) -> None:
        self._amounts: dict[str, float] = dict.fromkeys(names, 0)

    def add(self, name: str, amount: float = 1) -> None:
        """Add to one of the names."""
        self._amounts[name] = self._amounts.get(name, 0) + amount

    def take(self) -> dict[str, float]:
        """What was added since the last time; to be called at the end of every step."""
        amounts, self._amounts = self._amounts, {}
        return amounts

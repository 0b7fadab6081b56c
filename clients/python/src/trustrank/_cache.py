"""Verdicts by agent, tool level and range of stakes, for at most five minutes (SPEC 8.3).

One answer serves every tool level and every stakes value for which the service says that it holds; it is
never served where the answer could differ.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Callable

from ._messages import VerifyVerdict

#: SPEC 8.3, seconds.
VERDICT_TTL_SEC = 300.0
#: Most agents.
ENTRIES_MAX = 10_000
#: Of one agent: four levels, and one range per decision is all that can be disjoint and exact.
_RANGES_MAX = 16


@dataclass(frozen=True)
class Cached:
    """A verdict, the questions it answers, and when it was asked for (monotonic seconds)."""

    verdict: VerifyVerdict
    asked: float
    tool_level: str
    low: float
    high: float

    def overlaps(self, other: Cached) -> bool:
        same = self.tool_level == other.tool_level
        return same and self.high >= other.low and self.low <= other.high


class ScoreCache:
    """Bounded, by age of use. Safe between threads."""

    def __init__(self, *, entries_max: int = ENTRIES_MAX, ttl: float = VERDICT_TTL_SEC) -> None:
        self._entries: OrderedDict[str, list[Cached]] = OrderedDict()
        self._entries_max = max(1, entries_max)
        self._ttl = ttl
        self._lock = threading.Lock()

    def get(
        self, agent_id: str, tool_level: str, stakes: float, now: float, age_max: float
    ) -> Cached | None:
        """The answer to this question that is younger than `age_max` and its own lifetime."""
        with self._lock:
            for cached in self._entries.get(agent_id, ()):
                if cached.tool_level != tool_level or not cached.low <= stakes <= cached.high:
                    continue
                age = now - cached.asked
                if age < age_max and age < min(cached.verdict.lifetime, self._ttl):
                    self._entries.move_to_end(agent_id)
                    return cached
            return None

    def put(
        self, agent_id: str, tool_level: str, stakes: float, verdict: VerifyVerdict, asked: float
    ) -> None:
        """Keeps a verdict for all that it answers; what was asked later stays."""
        with self._lock:
            kept = self._entries.get(agent_id, [])
            for found in holdings_of(verdict, tool_level, stakes, asked):
                if any(other.asked > asked and other.overlaps(found) for other in kept):
                    continue
                # An overlapping range is older and either agrees or is outdated.
                kept = [found, *(other for other in kept if not other.overlaps(found))]
            self._entries[agent_id] = kept[:_RANGES_MAX]
            self._entries.move_to_end(agent_id)
            if len(self._entries) > self._entries_max:
                self._entries.popitem(last=False)

    def clear_where(self, is_outdated: Callable[[str], bool]) -> None:
        """Drops the agents that `is_outdated` is true for."""
        with self._lock:
            for agent_id in [each for each in self._entries if is_outdated(each)]:
                del self._entries[agent_id]

    def clear(self, agent_id: str | None = None) -> None:
        with self._lock:
            if agent_id is None:
                self._entries.clear()
            else:
                self._entries.pop(agent_id, None)


def holdings_of(
    verdict: VerifyVerdict, tool_level: str, stakes: float, asked: float
) -> list[Cached]:
    """The levels of which a verdict speaks, each within the stakes that it names.

    A service that names none (an earlier release) has answered for the level that was asked: a refusal
    holds for more, anything else for its own stakes alone.
    """
    if verdict.levels is None:
        high = math.inf if verdict.verdict == "BLOCK" else stakes
        return [Cached(verdict, asked, tool_level, stakes, high)]
    return [
        Cached(
            verdict if name == tool_level else verdict.at_level(level),
            asked,
            name,
            level.holds_from,
            math.inf if level.holds_to is None else level.holds_to,
        )
        for name, level in verdict.levels.items()
    ]

"""Verdicts by agent and by range of stakes, for at most five minutes (SPEC 8.3).

Decisions only get stricter as stakes rise, so one answer serves every stakes value for which it would
be the same; it is never served for stakes at which the answer could differ.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Callable

from ._messages import CheckVerdict, VerifyVerdict

#: SPEC 8.3, seconds.
VERDICT_TTL_SEC = 300.0
ENTRIES_MAX = 10_000
#: One range per decision is all that can be disjoint and exact.
_RANGES_MAX = 4
#: `max_stakes` is rounded down to this.
_STAKES_STEP = 0.0001


@dataclass(frozen=True)
class Cached:
    """A verdict and when it was asked for; the age counts from there (monotonic seconds)."""

    verdict: Any
    asked: float
    low: float
    high: float


class ScoreCache:
    """Bounded, by age of use. Safe between threads."""

    def __init__(
        self,
        reach_of: Callable[[Any, float], tuple[float, float]],
        *,
        entries_max: int = ENTRIES_MAX,
        ttl: float = VERDICT_TTL_SEC,
    ) -> None:
        self._reach_of = reach_of
        self._entries: OrderedDict[str, list[Cached]] = OrderedDict()
        self._entries_max = max(1, entries_max)
        self._ttl = ttl
        self._lock = threading.Lock()

    def get(self, key: str, stakes: float, now: float, age_max: float) -> Cached | None:
        """The answer for these stakes that is younger than `age_max` and its own lifetime."""
        with self._lock:
            for cached in self._entries.get(key, ()):
                age = now - cached.asked
                lifetime = min(cached.verdict.lifetime, self._ttl)
                if cached.low <= stakes <= cached.high and age < age_max and age < lifetime:
                    self._entries.move_to_end(key)
                    return cached
            return None

    def put(self, key: str, stakes: float, verdict: Any, asked: float) -> None:
        low, high = self._reach_of(verdict, stakes)
        with self._lock:
            # An overlapping range is older and either agrees or is outdated.
            others = [
                other
                for other in self._entries.get(key, ())
                if other.high < low or other.low > high
            ]
            self._entries[key] = [Cached(verdict, asked, low, high), *others][:_RANGES_MAX]
            self._entries.move_to_end(key)
            if len(self._entries) > self._entries_max:
                self._entries.popitem(last=False)

    def clear(self, key: str | None = None) -> None:
        with self._lock:
            if key is None:
                self._entries.clear()
            else:
                self._entries.pop(key, None)


def reach_of_check(verdict: CheckVerdict, stakes: float) -> tuple[float, float]:
    """The stakes at which a check would say the same.

    `connect` holds from zero to its `max_stakes`, a verification from its own stakes on (for less it
    might be clear); what waits for a person holds from where it would no longer open, and a refusal
    whatever the stakes.
    """
    given = verdict.max_stakes
    if verdict.decision == "refuse":
        return 0.0, math.inf
    if verdict.decision == "escalate":
        return min(stakes, (stakes if given is None else given) + _STAKES_STEP), math.inf
    high = math.inf if given is None else given
    return (0.0 if verdict.decision == "connect" else stakes), max(stakes, high)


def reach_of_verify(verdict: VerifyVerdict, stakes: float) -> tuple[float, float]:
    """ALLOW holds up to its `max_stakes`, BLOCK for more; others hold for their own stakes alone."""
    if verdict.verdict == "BLOCK":
        return stakes, math.inf
    if verdict.verdict != "ALLOW":
        return stakes, stakes
    high = math.inf if verdict.max_stakes is None else verdict.max_stakes
    if "max_stakes" not in verdict.raw:
        high = stakes
    return (stakes if verdict.reason_codes else 0.0), max(stakes, high)

"""Gateways (SPEC 8): every request is answered with allowed or not, and nothing is raised.

From the cache, or from one call within the client's limit; without a verdict the fail policy of the
tool level decides, visibly.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import time
import weakref
from dataclasses import dataclass, replace
from typing import Any, Awaitable, Callable, Mapping

from ._cache import VERDICT_TTL_SEC, ScoreCache
from ._changes import UNCOVERED_TTL_SEC, Change, ChangeFollower
from ._client import AsyncTrustRank, TrustRank
from ._errors import TrustRankError
from ._messages import VerifyVerdict
from ._notices import Alert, Flagged, FlagNotifier, OutageAlerter

STAKES_MAX = 1e12
_RETRY_AFTER_SEC = 1
#: Labels of an ALLOW that is not flagged for review; a label that is not known here is.
_UNFLAGGED_LABELS = frozenset(
    {
        "TRUST_SUFFICIENT",
        "RISK_TOLERATED",
        "THIN_FILE_TOLERATED",
        "VOUCHED",
        "REVIEW_OVERTURNED",
        "CLEARED",
    }
)


@dataclass(frozen=True)
class FailPolicy:
    """The effect of a missing verdict at one tool level."""

    name: str
    is_open: bool
    #: L1: "ALLOW with log".
    is_logged: bool


_POLICIES = {
    "L0": FailPolicy("L0_open", True, False),
    "L1": FailPolicy("L1_open", True, True),
    "L2": FailPolicy("L2_closed", False, True),
    "L3": FailPolicy("L3_closed", False, True),
}


def fail_policy(tool_level: str) -> FailPolicy:
    """The row of SPEC 8.1; an unclassified tool counts as critical."""
    return _POLICIES.get(tool_level, _POLICIES["L3"])


@dataclass(frozen=True)
class GatewayAnswer:
    """The ruling on a request, with its reason."""

    allowed: bool
    #: SPEC 7: HTTP status for the end client. 200 lets the request through.
    status: int
    #: The verdict's own word, or the fail policy's when there is no verdict.
    word: str
    #: One label for the log: of the rule that decided, or of the fault.
    reason: str
    verdict: VerifyVerdict | None
    error: TrustRankError | None
    #: SPEC 8.2: let through on a low score; for review by a person.
    flagged: bool
    #: `due`, `passed` or `failed` where the verdict asks for verification (SPEC 3).
    verification: str | None
    fail_policy: str | None
    #: Whole seconds, with status 503.
    retry_after: int | None
    is_cached: bool
    #: Age of a cached verdict, seconds.
    age: float

    @property
    def degraded(self) -> bool:
        """True for every answer without a verdict behind it, allowed or not."""
        return self.verdict is None

    def headers(self) -> dict[str, str]:
        """Header lines of the answer: for the upstream, the end client and the access log alike."""
        lines = {
            "X-Trust-Effective": "allow" if self.allowed else "deny",
            "X-Trust-Verdict": self.word,
            "X-Trust-Reason": self.reason,
        }
        if self.verdict is not None:
            lines["X-Trust-Request-Id"] = self.verdict.request_id
        if self.flagged:
            lines["X-Trust-Flagged"] = "true"
        if self.verification is not None:
            lines["X-Trust-Verification"] = self.verification
        if self.fail_policy is not None:
            lines["X-Trust-Degraded"] = self.fail_policy
        if self.retry_after is not None:
            lines["Retry-After"] = str(self.retry_after)
        return lines


#: Verifies the agent of a verdict beyond its identity (SPEC 3): verdict, agent, action. Only `True`
#: passes; anything else, and what is raised, denies.
Verification = Callable[[VerifyVerdict, str, str], "bool | Awaitable[bool]"]


class AsyncTrustGateway:
    """A gateway over `AsyncTrustRank`. One question serves an agent's tools of all levels.

    What must be on record (an answer flagged for review, quarantined or blocked) is asked for itself.
    """

    def __init__(
        self,
        client: AsyncTrustRank,
        *,
        on_alert: Alert | None = None,
        on_flagged: Flagged | None = None,
        verification: Verification | None = None,
        cache_entries_max: int = 10_000,
        follow: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        _require_callable(verification)
        self._verification = verification
        self._alerts = OutageAlerter(on_alert, monotonic)
        self._flags = FlagNotifier(on_flagged, monotonic)
        self._monotonic = monotonic
        self._cache = ScoreCache(entries_max=cache_entries_max)
        #: Follows changes from the first question on; `False` switches it off.
        self._may_follow = follow
        self._follower: ChangeFollower | None = None
        self._covered_since = -math.inf
        self._flights: dict[tuple[str, str, float], asyncio.Task[VerifyVerdict]] = {}
        #: Counts what was forgotten: an answer to an older question is not kept.
        self._forgets = 0
        #: Since the start.
        self.counts = {"asked": 0, "cached": 0, "degraded": 0, "blocked": 0}

    async def authorize(
        self,
        agent_id: str,
        *,
        action: str,
        tool_level: str,
        stakes: float = 0.0,
        context: Mapping[str, Any] | None = None,
    ) -> GatewayAnswer:
        """The policy verdict on an action, applied. With content to judge, nothing is cached.

        A challenge that no person has to decide is put to `verification`, for this call alone.
        """
        ruled = await self._ruled(agent_id, action, tool_level, stakes, context)
        answer = await self._verified(ruled, agent_id, action)
        self._flags.notify(answer, agent_id, tool_level)
        return answer

    async def _ruled(
        self,
        agent_id: str,
        action: str,
        tool_level: str,
        stakes: float,
        context: Mapping[str, Any] | None,
    ) -> GatewayAnswer:
        self._follow()
        now = self._monotonic()
        levels = not context
        try:
            if not 0 <= stakes <= STAKES_MAX:
                raise TrustRankError("invalid_argument", f"stakes must be 0 to {STAKES_MAX:g}")
            found = self._found(agent_id, tool_level, stakes, now) if levels else None
            others = self._flights.get((agent_id, "", 0.0)) if levels else None
            if found is None and others is not None:
                # Another level's question under way may answer this one too; its fault is shared.
                await asyncio.shield(others)
                found = self._found(agent_id, tool_level, stakes, self._monotonic())
            if found is not None:
                return found
            left = self._client.timeout - (self._monotonic() - now)
            if left <= 0:
                raise TrustRankError("timeout", "the answer of another call came too late")

            async def ask() -> VerifyVerdict:
                self.counts["asked"] += 1
                asked, forgets = self._monotonic(), self._forgets
                verdict = await self._client.verify(
                    agent_id,
                    action=action,
                    tool_level=tool_level,
                    stakes=stakes,
                    context=context,
                    levels=levels,
                    timeout=left,
                )
                if levels and forgets == self._forgets:
                    self._cache.put(agent_id, tool_level, stakes, verdict, asked)
                self._alerts.record_verdict()
                return verdict

            exact = (agent_id, tool_level, stakes)
            key = exact if others is not None else (agent_id, "", 0.0)
            verdict = await (self._shared(key, ask) if levels else ask())
            return _applied(verdict, None)
        except TrustRankError as error:
            return self._faulted(error, agent_id, tool_level)
        except Exception as error:  # A gateway answers, whatever a caller passed.
            fault = TrustRankError("invalid_argument", f"the question failed: {error}")
            return self._faulted(fault, agent_id, tool_level)

    def close(self) -> None:
        """Ends the following of changes; answers continue."""
        self._may_follow = False
        if self._follower is not None:
            self._follower.close()
            self._follower = None

    def on_change(self, change: Change) -> None:
        """Drops the cached verdicts that a change outdates."""
        self._forgets += 1
        self._cache.clear_where(change.affects)

    def on_gap(self) -> None:
        self.forget()

    def on_start(self) -> None:
        self._covered_since = self._monotonic()

    def forget(self, agent_id: str | None = None) -> None:
        """Drops the cached verdicts of an agent, or all: after a revocation that must not wait."""
        # What is under way is answered, but not kept.
        self._forgets += 1
        self._cache.clear(agent_id)

    def _found(
        self, agent_id: str, tool_level: str, stakes: float, now: float
    ) -> GatewayAnswer | None:
        cached = self._cache.get(agent_id, tool_level, stakes, now, VERDICT_TTL_SEC)
        if cached is None or now - cached.asked >= self._age_max(tool_level, cached.asked):
            return None
        self.counts["cached"] += 1
        return _applied(cached.verdict, now - cached.asked)

    def _follow(self) -> None:
        """From the first question on: a gateway that asks nothing opens no connection."""
        if self._may_follow:
            self._may_follow = False
            self._follower = self._client.follow_changes(weakref.ref(self))

    def _age_max(self, tool_level: str, asked: float) -> float:
        """Seconds; ten at L2 and L3 while the feed is silent and for what was asked before it began."""
        if self._follower is None or tool_level in ("L0", "L1"):
            return math.inf
        is_uncovered = self._follower.is_silent or asked < self._covered_since
        return UNCOVERED_TTL_SEC if is_uncovered else math.inf

    async def _shared(
        self, key: tuple[str, str, float], ask: Callable[[], Awaitable[VerifyVerdict]]
    ) -> VerifyVerdict:
        """Joins the same question under way; a caller that gives up does not end it for others."""
        task = self._flights.get(key)
        if task is None:
            task = asyncio.ensure_future(ask())
            self._flights[key] = task
            task.add_done_callback(lambda _: self._flights.pop(key, None))
        return await asyncio.shield(task)

    def _faulted(self, error: TrustRankError, agent_id: str, tool_level: str) -> GatewayAnswer:
        policy = fail_policy(tool_level)
        # The policy is for a service that does not answer; a caller that sent nonsense says nothing
        # about the service, and gets nothing: else a hash of another content would open L0 and L1.
        is_callers = error.code in ("invalid_argument", "invalid_request")
        allowed = policy.is_open and not is_callers
        self.counts["degraded"] += 1
        if not allowed:
            self.counts["blocked"] += 1
            if not is_callers:
                self._alerts.record_blocked(error, agent_id, tool_level)
        retry_after = None
        if not allowed:
            retry_after = max(_RETRY_AFTER_SEC, math.ceil(error.retry_after or 0))
        return GatewayAnswer(
            allowed=allowed,
            status=200 if allowed else 403 if is_callers else 503,
            word="ALLOW" if allowed else "BLOCK",
            reason=error.code,
            verdict=None,
            error=error,
            flagged=False,
            verification=None,
            fail_policy=policy.name,
            retry_after=retry_after,
            is_cached=False,
            age=0.0,
        )

    async def _verified(
        self, answer: GatewayAnswer, agent_id: str, action: str
    ) -> GatewayAnswer:
        verdict = answer.verdict
        if verdict is None or not verdict.enforced or not _is_verification_due(verdict):
            return answer
        if self._verification is None:
            return replace(answer, verification="due")
        try:
            passed = self._verification(verdict, agent_id, action)
            if inspect.isawaitable(passed):
                passed = await passed
        except Exception:
            passed = False
        if passed is True:
            return replace(answer, allowed=True, status=200, verification="passed")
        return replace(
            answer,
            allowed=False,
            status=403,
            reason="VERIFICATION_FAILED",
            flagged=False,
            verification="failed",
        )


class TrustGateway:
    """The same for blocking code, over `TrustRank`."""

    def __init__(self, client: TrustRank, **options: Any) -> None:
        _require_callable(options.get("verification"))
        self._client = client
        self._options = options
        self._gateways: dict[int, AsyncTrustGateway] = {}

    def authorize(self, agent_id: str, **question: Any) -> GatewayAnswer:
        return self._client.run(lambda client: self._over(client).authorize(agent_id, **question))

    def close(self) -> None:
        """Ends the following of changes; answers continue."""
        self._options["follow"] = False

        async def close_all() -> None:
            for gateway in self._gateways.values():
                gateway.close()

        self._client.run(lambda _: close_all())

    def forget(self, agent_id: str | None = None) -> None:
        for gateway in self._gateways.values():
            gateway.forget(agent_id)

    @property
    def counts(self) -> dict[str, int]:
        return next(iter(self._gateways.values())).counts if self._gateways else {}

    def _over(self, client: AsyncTrustRank) -> AsyncTrustGateway:
        """One for each client: a forked child has its own."""
        gateway = self._gateways.get(id(client))
        if gateway is None:
            gateway = AsyncTrustGateway(client, **self._options)
            self._gateways = {id(client): gateway}
        return gateway


def _require_callable(verification: object) -> None:
    if verification is not None and not callable(verification):
        raise TypeError("`verification` must be callable")


def _is_verification_due(verdict: VerifyVerdict) -> bool:
    """A challenge that no person has to decide, or an ALLOW that the policy only marks for it."""
    if verdict.verdict == "ALLOW":
        return verdict.log_reason == "STAKES_NEED_VERIFICATION"
    is_for_a_person = verdict.review_id is not None or verdict.log_reason == "STAKES_NEED_APPROVAL"
    return verdict.verdict == "CHALLENGE" and not is_for_a_person


def _applied(verdict: VerifyVerdict, age: float | None) -> GatewayAnswer:
    is_clear = verdict.verdict == "ALLOW" and verdict.log_reason in _UNFLAGGED_LABELS
    allowed = verdict.is_let_through
    return GatewayAnswer(
        allowed=allowed,
        status=200 if allowed else 403,
        word=verdict.verdict,
        reason=verdict.log_reason,
        verdict=verdict,
        error=None,
        flagged=allowed and not is_clear,
        verification=None,
        fail_policy=None,
        retry_after=None,
        is_cached=age is not None,
        age=age or 0.0,
    )

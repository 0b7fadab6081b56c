"""What a gateway tells its operators: outages (SPEC 6) and flagged answers (SPEC 8.2).

Without a callback both are lines of the logger `trustrank`.
"""

from __future__ import annotations

import logging
import math
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Callable

from ._errors import TrustRankError

if TYPE_CHECKING:
    from ._gateway import GatewayAnswer

_LOGGER = logging.getLogger("trustrank")
#: Least seconds between two alerts, whatever the service does meanwhile.
_ALERT_INTERVAL_SEC = 60.0
_FLAG_INTERVAL_SEC = 3600.0
#: Agents remembered; of more, the one noticed least recently is noticed again.
_AGENTS_MAX = 10_000

#: Called on the first request that is blocked because there is no verdict, then at most once a minute
#: while requests are blocked: error, agent, tool level, requests blocked since the outage began.
Alert = Callable[[TrustRankError, str, str, int], object]
#: Called at most once an agent and hour: answer, agent, tool level.
Flagged = Callable[["GatewayAnswer", str, str], object]


class OutageAlerter:
    """Alerts of blocked requests; a verdict ends the outage."""

    def __init__(
        self,
        on_alert: Alert | None,
        monotonic: Callable[[], float],
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._on_alert = on_alert
        self._monotonic = monotonic
        self._wall_clock = wall_clock
        self._is_raised = False
        self._alerted = -math.inf
        self._blocked = 0
        self._since = 0.0

    def record_blocked(self, error: TrustRankError, agent_id: str, tool_level: str) -> None:
        """Never raises."""
        if self._blocked == 0:
            self._since = self._wall_clock()
        self._blocked += 1
        now = self._monotonic()
        if now - self._alerted < _ALERT_INTERVAL_SEC:
            return
        self._is_raised, self._alerted = True, now
        if self._on_alert is None:
            _LOGGER.error(
                "no verdict (%s); %d blocked since %s; newest: %r at %s",
                error.code,
                self._blocked,
                _format_time(self._since),
                agent_id,
                tool_level,
            )
            return
        try:
            self._on_alert(error, agent_id, tool_level, self._blocked)
        except Exception:
            pass  # Observers must not change the decision.

    def record_verdict(self) -> None:
        """Blocked requests that raised no alert yet stay counted for the next."""
        if not self._is_raised:
            return
        if self._on_alert is None:
            since, until = _format_time(self._since), _format_time(self._wall_clock())
            _LOGGER.error(
                "verdicts are available again; %d blocked from %s to %s", self._blocked, since, until
            )
        self._is_raised, self._blocked = False, 0


class FlagNotifier:
    """Notices of answers that are flagged for review."""

    def __init__(self, on_flagged: Flagged | None, monotonic: Callable[[], float]) -> None:
        self._on_flagged = on_flagged or _warn
        self._monotonic = monotonic
        self._noticed: dict[str, float] = {}

    def notify(self, answer: GatewayAnswer, agent_id: str, tool_level: str) -> None:
        """Does nothing for an answer that is not flagged. Never raises."""
        if not answer.flagged:
            return
        now = self._monotonic()
        if now - self._noticed.get(agent_id, -math.inf) < _FLAG_INTERVAL_SEC:
            return
        self._noticed.pop(agent_id, None)
        self._noticed[agent_id] = now
        if len(self._noticed) > _AGENTS_MAX:
            del self._noticed[next(iter(self._noticed))]
        try:
            self._on_flagged(answer, agent_id, tool_level)
        except Exception:
            pass  # Observers must not change the decision.


def _warn(answer: GatewayAnswer, agent_id: str, tool_level: str) -> None:
    request = "" if answer.verdict is None else f", request {answer.verdict.request_id}"
    _LOGGER.warning(
        "allowed %r at %s, flagged for review: %s%s", agent_id, tool_level, answer.reason, request
    )


def _format_time(seconds: float) -> str:
    text = datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")

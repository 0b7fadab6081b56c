"""Outcomes behind the caller's back: bounded, never in the way, never raised into the turn."""

from __future__ import annotations

import logging
import math
import threading
import time
import uuid
from collections import deque
from typing import Any, Callable

from ._client import BATCH_ITEMS_MAX, TrustRank
from ._errors import TrustRankError
from ._messages import Outcome
from .rails import ToolEnd

QUEUED_MAX = 1000
ATTEMPTS_MAX = 5
_PAUSE_SEC = 0.2
_PAUSE_SEC_MAX = 10.0
_LOGGER = logging.getLogger("trustrank")
#: Least seconds between two warnings of one cause, however often it works in between.
_WARNING_INTERVAL_SEC = 60.0

#: Called for every dropped outcome, in place of a warning once for each cause: the outcome, why (`queue_full`, `refused`, `attempts_used_up`,
#: `no_time_left`), and the last error if there was one.
OnDrop = Callable[[Outcome, str, "TrustRankError | None"], object]


class OutcomeQueue:
    """Sends outcomes in batches from a thread of its own. Safe from any thread or event loop.

    Each outcome has an id before it is first sent, so a repeat after a lost answer counts once.
    """

    def __init__(
        self,
        client: TrustRank,
        *,
        queued_max: int = QUEUED_MAX,
        attempts_max: int = ATTEMPTS_MAX,
        pause: float = _PAUSE_SEC,
        on_drop: OnDrop | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._queued_max = queued_max
        self._attempts_max = attempts_max
        self._pause = pause
        self._on_drop = on_drop
        self._monotonic = monotonic
        #: When each cause was last warned of, and when an outcome was last accepted.
        self._warned: dict[tuple[str, str], float] = {}
        self._accepted = -math.inf
        self._waiting: deque[Outcome] = deque()
        self._changed = threading.Condition()
        self._is_working = False
        self._is_stopped = False
        #: Since the start; every outcome offered ends in `sent` or `dropped`.
        self.counts = {"offered": 0, "sent": 0, "dropped": 0, "retried": 0}

    def offer(self, outcome: Outcome) -> None:
        """Takes an outcome; returns at once and never raises."""
        with self._changed:
            self.counts["offered"] += 1
            is_full = len(self._waiting) >= self._queued_max
            if not is_full:
                self._waiting.append({"id": str(uuid.uuid4()), **outcome})  # type: ignore[typeddict-item]
                self._is_stopped = False
                if not self._is_working:
                    self._is_working = True
                    threading.Thread(target=self._work, name="trustrank-outcomes", daemon=True).start()
        if is_full:
            self._drop(outcome, "queue_full", None)

    def flush(self, timeout: float) -> None:
        """Returns when the queue is empty, or after `timeout` seconds; the rest is dropped then."""
        deadline = time.monotonic() + timeout
        with self._changed:
            if self._changed.wait_for(lambda: not self._is_working, timeout):
                return
            self._is_stopped = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._is_working, max(1.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while True:
            with self._changed:
                count = min(BATCH_ITEMS_MAX, len(self._waiting))
                batch = [self._waiting.popleft() for _ in range(count)]
                if not batch:
                    self._is_working = False
                    self._changed.notify_all()
                    return
            self._deliver(batch)

    def _deliver(self, batch: list[Outcome]) -> None:
        left: list[tuple[Outcome, TrustRankError | None]] = [(item, None) for item in batch]
        pause = self._pause
        for attempt in range(1, self._attempts_max + 1):
            if not self._is_stopped:
                left = self._attempt([item for item, _ in left])
            if not left:
                return
            if self._is_stopped or attempt == self._attempts_max:
                break
            self.counts["retried"] += len(left)
            advised = max((error.retry_after or 0) if error else 0 for _, error in left)
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped, max(pause, advised))
            pause = min(pause * 2, _PAUSE_SEC_MAX)
        why = "no_time_left" if self._is_stopped else "attempts_used_up"
        for item, error in left:
            self._drop(item, why, error)

    def _attempt(self, items: list[Outcome]) -> list[tuple[Outcome, TrustRankError | None]]:
        """Sends outcomes once; returns those to retry."""
        try:
            results: list[Any] = self._client.report_outcomes(items)
        except TrustRankError as error:
            results = [error] * len(items)
        except Exception as error:  # A signer of the user's, for one.
            results = [TrustRankError("invalid_argument", str(error))] * len(items)
        again: list[tuple[Outcome, TrustRankError | None]] = []
        for item, result in zip(items, results):
            if not isinstance(result, TrustRankError):
                self.counts["sent"] += 1
                self._accepted = self._monotonic()
            elif result.is_transient:
                again.append((item, result))
            else:
                self._drop(item, "refused", result)
        return again

    def _drop(self, outcome: Outcome, why: str, error: TrustRankError | None) -> None:
        self.counts["dropped"] += 1
        try:
            if self._on_drop is None:
                self._warn(why, error)
            else:
                self._on_drop(outcome, why, error)
        except Exception:
            pass  # Observers must not break the queue.

    def _warn(self, why: str, error: TrustRankError | None) -> None:
        """Once for each cause, and again only where it has worked in between."""
        cause = (why, "" if error is None else error.code)
        now, last = self._monotonic(), self._warned.get(cause)
        if last is not None and (self._accepted <= last or now - last < _WARNING_INTERVAL_SEC):
            return
        self._warned[cause] = now
        detail = "" if error is None else f" ({error.code}: {error})"
        _LOGGER.warning("an outcome was not delivered: %s%s; more of the same are only counted", why, detail)


class OutcomeReport:
    """One outcome for every run of a tool, none for what did not run. Never raises.

    `subject`, `stakes`, `is_success` and `is_agent_fault` are called with the end; left out, the
    decision's own subject and stakes count, and a call that returned no error value is a success.
    A call that raised is reported only where `is_agent_fault` or the error (`AgentFaultError`) says
    whose fault that was; `is_agent_fault` returns None where it does not know.
    """

    def __init__(
        self,
        client: TrustRank,
        *,
        subject: Callable[[ToolEnd], str | None] | None = None,
        stakes: Callable[[ToolEnd], float] | None = None,
        is_success: Callable[[ToolEnd], bool | None] | None = None,
        is_agent_fault: Callable[[ToolEnd], bool | None] | None = None,
        reporter: str | None = None,
        grade: str = "counterparty",
        **queue_options: Any,
    ) -> None:
        self.queue = OutcomeQueue(client, **queue_options)
        self._subject = subject
        self._stakes = stakes
        self._is_success = is_success
        self._is_agent_fault = is_agent_fault
        self._reporter = reporter or client.agent_id
        self._grade = grade
        #: Ends that were not reported, by the reason.
        self.skipped = {
            "refused": 0,
            "not_run": 0,
            "unfinished": 0,
            "fault_unknown": 0,
            "unattributed": 0,
        }

    def __call__(self, end: ToolEnd) -> None:
        try:
            if end.decision is not None and end.decision.action == "deny":
                self.skipped["refused"] += 1
            elif end.is_unfinished:
                self.skipped["unfinished"] += 1
            else:
                outcome = self._outcome(end)
                if outcome is None:
                    self.skipped["fault_unknown"] += 1
                else:
                    self.queue.offer(outcome)
        except Exception:
            self.skipped["unattributed"] += 1

    def _outcome(self, end: ToolEnd) -> Outcome | None:
        """None where nothing says whose fault a failure was."""
        decision = end.decision
        known = None if decision is None else decision.subject
        subject = known if self._subject is None else self._subject(end)
        is_success = end.is_success if self._is_success is None else self._is_success(end)
        if subject is None or self._reporter is None or is_success is None:
            raise TypeError("nothing to report")
        fault = None if is_success else self._fault(end)
        if not is_success and fault is None and end.error is not None:
            return None
        stakes = 0.0 if decision is None or decision.stakes is None else decision.stakes
        outcome: Outcome = {
            "subject": subject,
            "reporter": self._reporter,
            "outcome": 1 if is_success else 0,
            "stakes": stakes if self._stakes is None else self._stakes(end),
            "grade": self._grade,
        }
        if fault is not None:
            outcome["agent_fault"] = fault
        if decision is not None and decision.request_id is not None:
            outcome["request_id"] = decision.request_id
        return outcome

    def _fault(self, end: ToolEnd) -> bool | None:
        given = None if self._is_agent_fault is None else self._is_agent_fault(end)
        return end.agent_fault if given is None else given

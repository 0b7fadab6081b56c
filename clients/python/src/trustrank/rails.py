"""The outbound gate without a framework: the decision on one tool call, and what came of it.

Total: a fault, a late answer, a callback that raises and an unknown word all deny.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Awaitable, Callable

from ._client import AsyncTrustRank, TrustRank
from ._errors import TrustGateError, TrustRankError
from ._gateway import fail_policy
from ._messages import HandshakeVerdict


@dataclass(frozen=True)
class ToolDecision:
    """`run`: dispatch. `park`: a person decides. `deny`: never runs; `reason` may be shown."""

    action: str
    reason: str
    verdict: HandshakeVerdict | None = None
    #: The agent whose record the result goes on.
    subject: str | None = None
    stakes: float | None = None

    @property
    def request_id(self) -> str | None:
        return None if self.verdict is None else self.verdict.request_id


class AgentFaultError(Exception):
    """Raised by a tool that knows that the failure is the agent's, whom the outcome is about."""

    agent_fault = True


#: Causes looked at; a chain may be a circle.
_CAUSES_MAX = 8


@dataclass(frozen=True)
class ToolEnd:
    """A tool call that ran: with `error` it raised, else it returned `output`."""

    tool_name: str
    input: Any
    output: Any = None
    error: BaseException | None = None
    decision: ToolDecision | None = None

    @property
    def is_unfinished(self) -> bool:
        """Cancelled, out of time, or parked from inside the tool: its outcome is unknown."""
        return self._raise_state == "unfinished"

    @property
    def agent_fault(self) -> bool | None:
        """Whose fault an error says it is, or the one that it was raised from, by `agent_fault`. None: neither says."""
        state = self._raise_state
        return state if isinstance(state, bool) else None

    @property
    def _raise_state(self) -> bool | str | None:
        error, seen = self.error, 0
        while error is not None and seen < _CAUSES_MAX:
            fault = getattr(error, "agent_fault", None)
            if isinstance(fault, bool):
                return fault
            names = {kind.__name__ for kind in type(error).__mro__}
            if names & {"CancelledError", "KeyboardInterrupt", "TimeoutError", "GraphBubbleUp"}:
                return "unfinished"
            error, seen = error.__cause__, seen + 1
        return None

    @property
    def is_success(self) -> bool:
        """Returned, and no error value: `isError: true` (MCP) or `status: "error"` (LangChain)."""
        if self.error is not None:
            return False
        output = self.output
        read = output.get if isinstance(output, dict) else lambda name: getattr(output, name, None)
        return not (read("isError") is True or read("is_error") is True or read("status") == "error")


class HandshakeGate:
    """Decides tool calls by the handshake with the other party.

    `counterparty` and `stakes` are called with the tool's input. `on_verification` says what
    `connect_with_verification` does, since no framework has that state: `ask` parks the call and is
    the default at L2 and L3, `approve` runs it and is the default below.
    """

    def __init__(
        self,
        client: TrustRank | AsyncTrustRank,
        *,
        stakes: Callable[[Any], float],
        counterparty: Callable[[Any], str] = lambda given: given["counterparty"],
        initiator: str | None = None,
        tool_level: str = "L2",
        on_verification: str | None = None,
    ) -> None:
        self._client = client
        self._stakes = stakes
        self._counterparty = counterparty
        self._initiator = initiator
        is_sensitive = not fail_policy(tool_level).is_open
        self._on_verification = on_verification or ("ask" if is_sensitive else "approve")

    def decide(self, tool_input: Any) -> ToolDecision:
        """For blocking code, over a TrustRank. Never raises."""
        try:
            counterparty, stakes = self._question(tool_input)
            client: Any = self._client
            verdict = client.handshake(self._initiator, counterparty, stakes=stakes)
            return self._decided(verdict, counterparty, stakes)
        except Exception as error:
            return _denied(error)

    async def adecide(self, tool_input: Any) -> ToolDecision:
        """For asyncio; a blocking client is waited for in a thread. Never raises."""
        if isinstance(self._client, TrustRank):
            return await asyncio.to_thread(self.decide, tool_input)
        try:
            counterparty, stakes = self._question(tool_input)
            verdict = await self._client.handshake(self._initiator, counterparty, stakes=stakes)
            return self._decided(verdict, counterparty, stakes)
        except Exception as error:
            return _denied(error)

    def _question(self, tool_input: Any) -> tuple[str, float]:
        try:
            return self._counterparty(tool_input), self._stakes(tool_input)
        except Exception as error:
            raise TrustGateError("a callback of the gate failed") from error

    def _decided(self, verdict: HandshakeVerdict, subject: str, stakes: float) -> ToolDecision:
        action = "deny"
        if not verdict.enforced or verdict.decision == "connect":
            action = "run"
        elif verdict.decision == "connect_with_verification":
            action = "run" if self._on_verification == "approve" else "park"
        elif verdict.decision == "escalate":
            action = "park"
        reason = "; ".join(verdict.reasons) or verdict.decision
        return ToolDecision(action, reason, verdict, subject, stakes)


def gated(
    gate: HandshakeGate,
    *,
    tool_name: str,
    report: Callable[[ToolEnd], object] | None = None,
    approve: Callable[[Any, str], Any] | None = None,
    refused: Callable[[str], Any] = lambda reason: f"refused: {reason}",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for a tool's function that takes its input as keyword arguments.

    A refused call returns what `refused` makes of the reason, for the model to read. `approve` asks a
    person about a parked call; only True runs it. Works on plain and `async def` functions; it sits
    under the framework's own decorator, so that what fails the tool's schema is neither asked about
    nor reported.
    """
    import functools
    import inspect

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def waiting(**given: Any) -> Any:
                decision = await gate.adecide(given)
                answer: Any = decision.action == "park" and approve and approve(given, decision.reason)
                if isinstance(answer, Awaitable):
                    answer = await answer
                stop = _stopped(decision, answer)
                if stop is not None:
                    return refused(stop)
                try:
                    output = await function(**given)
                except BaseException as error:
                    _tell(report, ToolEnd(tool_name, given, error=error, decision=decision))
                    raise
                _tell(report, ToolEnd(tool_name, given, output=output, decision=decision))
                return output

            return waiting

        @functools.wraps(function)
        def plain(**given: Any) -> Any:
            decision = gate.decide(given)
            answer = decision.action == "park" and approve and approve(given, decision.reason)
            stop = _stopped(decision, answer)
            if stop is not None:
                return refused(stop)
            try:
                output = function(**given)
            except BaseException as error:
                _tell(report, ToolEnd(tool_name, given, error=error, decision=decision))
                raise
            _tell(report, ToolEnd(tool_name, given, output=output, decision=decision))
            return output

        return plain

    return decorate


def _stopped(decision: ToolDecision, answer: Any) -> str | None:
    """The reason why the tool must not run; None when it may."""
    if decision.action == "run" or (decision.action == "park" and answer is True):
        return None
    if decision.action == "park":
        return f"a person must approve first ({decision.reason})"
    return decision.reason


def _tell(report: Callable[[ToolEnd], object] | None, end: ToolEnd) -> None:
    if report is not None:
        report(end)


def _denied(error: Exception) -> ToolDecision:
    """One line for a person or a model: the failure, without the service's internals."""
    if isinstance(error, TrustGateError):
        return ToolDecision("deny", str(error))
    if isinstance(error, TrustRankError):
        return ToolDecision("deny", f"no trust verdict ({error.code})")
    return ToolDecision("deny", "no trust verdict (the policy failed)")

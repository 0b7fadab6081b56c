"""Adapter for LangChain: the `wrap_tool_call` of a middleware. By structure; nothing is imported.

    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import ToolMessage
    from langgraph.types import interrupt

    class TrustRankMiddleware(AgentMiddleware):
        wrap_tool_call = langchain_gate(gate, tool_message=ToolMessage, interrupt=interrupt)

Put it last in the list of middlewares: another one's refusal must not be taken for the tool's failure.
"""

from __future__ import annotations

from typing import Any, Callable

from .rails import HandshakeGate, ToolEnd


def langchain_gate(
    gate: HandshakeGate,
    *,
    tool_message: Callable[..., Any],
    interrupt: Callable[[Any], Any],
    report: Callable[[ToolEnd], object] | None = None,
) -> Callable[..., Any]:
    """A `wrap_tool_call(self, request, handler)` that refuses, parks and reports.

    Only `True`, `{"type": "approve"}` or LangChain's `{"decisions": [{"type": "approve"}]}` as the value of
    a resumption lets a parked call through. A `Command` counts as the message in it that answers the call.
    """

    def wrap_tool_call(_self: Any, request: Any, handler: Callable[[Any], Any]) -> Any:
        call = request.tool_call
        name, given = call["name"], call["args"]
        decision = gate.decide(given)

        def refused(reason: str) -> Any:
            content = f"refused: {reason}"
            identity = {"tool_call_id": call.get("id") or "", "name": name}
            return tool_message(content=content, status="error", **identity)

        if decision.action == "deny":
            return refused(decision.reason)
        if decision.action == "park":
            asked = {"tool": name, "input": given, "reason": decision.reason}
            if not _is_approval(interrupt(asked)):
                return refused("not approved by a person")
        try:
            output = handler(request)
        except BaseException as error:
            # Arguments that did not fit the tool's schema: it has not run.
            if report is not None and not _is_invalid(error):
                report(ToolEnd(name, given, error=error, decision=decision))
            raise
        # A name without a tool is answered with a message, and nothing has run.
        if report is not None and getattr(request, "tool", call) is not None:
            answer = _answer(output, call.get("id"))
            report(ToolEnd(name, given, output=answer, decision=decision))
        return output

    return wrap_tool_call


def _is_approval(resumed: Any) -> bool:
    if isinstance(resumed, dict) and "decisions" in resumed:
        # One interrupt parks one call, so there is one decision on it.
        decisions = resumed["decisions"]
        resumed = decisions[0] if isinstance(decisions, list) and len(decisions) == 1 else None
    return resumed is True or (isinstance(resumed, dict) and resumed.get("type") == "approve")


def _answer(output: Any, call_id: Any) -> Any:
    """The message to the model in a `Command` that the tool returned; of anything else the output itself."""
    update = getattr(output, "update", None)
    if isinstance(output, dict) or not isinstance(update, (dict, list)):
        return output
    pairs = update.items() if isinstance(update, dict) else update
    for name, value in (pair for pair in pairs if isinstance(pair, tuple) and len(pair) == 2):
        for message in value if name == "messages" and isinstance(value, list) else ():
            if getattr(message, "tool_call_id", None) == call_id:
                return message
    return output


def _is_invalid(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"ToolInvocationError", "ValidationError", "ToolInputParsingException"})

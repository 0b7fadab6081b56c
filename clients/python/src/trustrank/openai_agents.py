"""Adapter for the OpenAI Agents SDK: a tool's function behind the gate, with outcome reporting.

    from agents import function_tool

    @function_tool
    @openai_tool(gate, tool_name="transfer", report=report)
    async def transfer(counterparty: str, amount: float) -> str: ...

The SDK calls the function only with arguments that fit, and its events come after refusals and
failures alike: so the function itself is what is gated and what is reported.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from .rails import HandshakeGate, ToolEnd, gated


def openai_tool(
    gate: HandshakeGate,
    *,
    tool_name: str,
    report: Callable[[ToolEnd], object] | None = None,
    approve: Callable[[Any, str], Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator under `function_tool`, which reads the signature: that stays the function's own.

    The SDK passes arguments by position too; they are named by the signature before the gate sees
    them. A first parameter for the run's context (`RunContextWrapper`) is not the model's input and is
    left out of it.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        names = list(signature.parameters)
        first = signature.parameters[names[0]].annotation if names else None
        text = first if isinstance(first, str) else getattr(first, "__name__", str(first))
        context = names[0] if names and text.split("[")[0].split(".")[-1] in _CONTEXTS else None
        options = {"tool_name": tool_name, "report": report, "approve": approve}

        def bound(args: Any, kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
            given = dict(signature.bind(*args, **kwargs).arguments)
            kept = {} if context is None else {context: given.pop(context, None)}
            return given, kept

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def waiting(*args: Any, **kwargs: Any) -> Any:
                given, kept = bound(args, kwargs)

                async def run(**inputs: Any) -> Any:
                    return await function(**kept, **inputs)

                return await gated(gate, **options)(run)(**given)  # type: ignore[arg-type]

            return waiting

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            given, kept = bound(args, kwargs)
            run = gated(gate, **options)(lambda **inputs: function(**kept, **inputs))  # type: ignore[arg-type]
            return run(**given)

        return plain

    return decorate


_CONTEXTS = ("RunContextWrapper", "ToolContext")

"""A function that runs only when the verdict on its caller allows it (SPEC 4.7)."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, TypeVar

from ._client import AsyncTrustRank, TrustRank
from ._errors import TrustGateError, refusal
from ._messages import CheckVerdict

Function = TypeVar("Function", bound=Callable[..., Any])


def guard(
    client: TrustRank | AsyncTrustRank,
    *,
    agent_id: Callable[..., str],
    stakes: Callable[..., float] | float,
    on_escalate: Callable[..., Any] | None = None,
) -> Callable[[Function], Function]:
    """Decorator: asks about the agent before each call of the function.

    `agent_id` and `stakes` are called with the function's own arguments. `on_escalate` gets the
    verdict and the arguments when a person must approve first, and lets the call through by
    returning True. The function raises TrustGateError when the verdict is against the call or a
    callback raised, TrustRankError when there is no verdict; its body does not run in either case.
    An `async def` takes an AsyncTrustRank, any other function a TrustRank.
    """

    def question(args: Any, kwargs: Any) -> tuple[str, float]:
        agent = _answer("agent_id", agent_id, args, kwargs)
        value = _answer("stakes", stakes, args, kwargs) if callable(stakes) else stakes
        return agent, value

    def decorate(function: Function) -> Function:
        if inspect.iscoroutinefunction(function):
            if not isinstance(client, AsyncTrustRank):
                raise TypeError("an `async def` is guarded by an AsyncTrustRank")
            waiting: AsyncTrustRank = client

            @functools.wraps(function)
            async def guarded(*args: Any, **kwargs: Any) -> Any:
                agent, value = question(args, kwargs)
                verdict = await waiting.require(agent, stakes=value)
                if not verdict.is_let_through:
                    answer = _asked(on_escalate, verdict, args, kwargs)
                    if inspect.isawaitable(answer):
                        answer = await _awaited(answer, verdict)
                    _approve(answer, agent, verdict)
                return await function(*args, **kwargs)

            return guarded  # type: ignore[return-value]
        if not isinstance(client, TrustRank):
            raise TypeError("a plain function is guarded by a TrustRank")
        blocking: TrustRank = client

        @functools.wraps(function)
        def guarded_plainly(*args: Any, **kwargs: Any) -> Any:
            agent, value = question(args, kwargs)
            verdict = blocking.require(agent, stakes=value)
            if not verdict.is_let_through:
                _approve(_asked(on_escalate, verdict, args, kwargs), agent, verdict)
            return function(*args, **kwargs)

        return guarded_plainly  # type: ignore[return-value]

    return decorate


def _answer(name: str, callback: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls a user's callback; one that raises is a refusal, never a skipped check."""
    try:
        return callback(*args, **kwargs)
    except Exception as error:
        raise TrustGateError(f"callback `{name}` failed") from error


def _asked(callback: Callable[..., Any] | None, verdict: CheckVerdict, args: Any, kwargs: Any) -> Any:
    if callback is None:
        return False
    try:
        return callback(verdict, *args, **kwargs)
    except Exception as error:
        raise TrustGateError("`on_escalate` failed", verdict) from error


async def _awaited(answer: Any, verdict: CheckVerdict) -> Any:
    try:
        return await answer
    except Exception as error:
        raise TrustGateError("`on_escalate` failed", verdict) from error


def _approve(answer: Any, agent: str, verdict: CheckVerdict) -> None:
    if answer is not True:
        raise refusal(agent, verdict)

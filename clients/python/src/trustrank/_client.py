"""Clients of one service: one method per question, verdicts as values.

`AsyncTrustRank` does the work. `TrustRank` is the same for blocking code: it waits for the other in
a loop of its own, so both keep the same limits. The reaction to an outage belongs to `gateway`.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Callable, Iterable, Mapping, Sequence

from ._changes import ChangeFollower, ChangeHandlers
from ._errors import TrustGateError, TrustRankError, refusal
from ._loop import LoopThread
from ._messages import (
    CheckVerdict,
    HandshakeVerdict,
    Outcome,
    Receipt,
    VerifyVerdict,
    problem_error,
    read_check,
    read_handshake,
    read_items,
    read_receipt,
    read_verify,
)
from ._nodes import CallKind, way_to
from ._review import REVIEW_TIMEOUT_SEC, Review, await_review
from ._transport import _json_of

#: SPEC 8.1: a gateway that waits longer is itself the outage.
TIMEOUT_SEC = 0.1
#: For outcomes and batches: a disk, a thousand reads.
SLOW_TIMEOUT_SEC = 5.0
BATCH_ITEMS_MAX = 1000
OUTCOME_BATCH_BYTES_MAX = 256 * 1024

#: Value of `X-JWS-Signature` for exactly this body; see `OutcomeSigner`.
Sign = Callable[[str], str]


def _reserved(reserve: bool) -> dict[str, bool]:
    """Named only where it is not the default."""
    return {} if reserve else {"reserve": False}


class AsyncTrustRank:
    """Client for asyncio. Made and used in one event loop; `async with` closes it.

    `timeout` is in seconds and holds for every read of a score, up to the last byte of the reply.
    `base_url` may be the addresses of several nodes of one bureau, among which it fails over within that
    time. With `hedge_after` seconds a read without an answer is put to a second node as well.
    """

    def __init__(
        self,
        base_url: str | Sequence[str],
        api_key: str | None = None,
        *,
        agent_id: str | None = None,
        timeout: float = TIMEOUT_SEC,
        slow_timeout: float = SLOW_TIMEOUT_SEC,
        sign: Sign | None = None,
        hedge_after: float | None = None,
        transport: Any = None,
    ) -> None:
        self.timeout = timeout
        #: Default initiator of handshakes and reporter of outcomes.
        self.agent_id = agent_id
        self._slow_timeout = slow_timeout
        self._sign = sign
        self._transport = way_to(base_url, api_key, transport, hedge_after)
        self._followers: weakref.WeakSet[ChangeFollower] = weakref.WeakSet()

    async def __aenter__(self) -> AsyncTrustRank:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        for follower in self._followers:
            follower.close()
        await self._transport.close()

    def follow_changes(self, handlers: Callable[[], ChangeHandlers | None]) -> ChangeFollower:
        """Follows the changes at the service that outdate verdicts, for a cache of the caller's own.

        A gateway follows by itself. Call it on a running event loop; ends with `close` of either, and
        once `handlers` gives None. Takes a key of scope `score:read`.
        """
        follower = ChangeFollower(self._transport.transports, handlers)
        self._followers.add(follower)
        return follower

    async def warm_up(self, timeout: float | None = None) -> bool:
        """Opens the connections before the first question. True when the service answered."""
        return await self._transport.reach(timeout or self._slow_timeout)

    async def check(
        self, agent_id: str, *, stakes: float, reserve: bool = True, timeout: float | None = None
    ) -> CheckVerdict:
        """Scores one agent for given stakes. A low score is a verdict to look at, never an error.

        `reserve=False` only looks: the stakes do not count with later ones.
        Raises TrustRankError when there is no verdict.
        """
        body = {"subject": agent_id, "stakes": stakes, **_reserved(reserve)}
        limit = timeout or self.timeout
        value = await self._post("/v1/check", body, limit, (200, 403), kind="read", about=agent_id)
        return read_check(value, agent_id, stakes)

    async def handshake(
        self,
        initiator: str | None,
        counterparty: str,
        *,
        stakes: float,
        reserve: bool = True,
        timeout: float | None = None,
    ) -> HandshakeVerdict:
        """Scores both directions; None as initiator is the client's own `agent_id`.

        `reserve=False` only looks: the stakes do not count with later ones.

        A refusal is a verdict too, although it travels as HTTP 403 (SPEC 7).
        Raises TrustRankError when there is no verdict.
        """
        first = initiator or self.agent_id
        if first is None:
            raise TrustRankError("invalid_argument", "no initiator: pass one, here or to the client")
        body = {
            "initiator": first,
            "counterparty": counterparty,
            "stakes": stakes,
            **_reserved(reserve),
        }
        limit = timeout or self.timeout
        stranger = first if counterparty == self.agent_id else counterparty
        value = await self._post("/v1/handshake", body, limit, (200, 403), kind="read", about=stranger)
        return read_handshake(value, first, counterparty, stakes)

    async def verify(
        self,
        agent_id: str,
        *,
        action: str,
        tool_level: str,
        stakes: float | None = None,
        context: Mapping[str, Any] | None = None,
        levels: bool = False,
        timeout: float | None = None,
    ) -> VerifyVerdict:
        """The policy verdict on one action (SPEC 2.3). Raises TrustRankError when there is none.

        With `levels` the verdict also says what every other tool level would get.
        """
        body = verify_request(agent_id, action, tool_level, stakes, context, levels)
        limit = timeout or self.timeout
        return read_verify(
            await self._post("/v1/trust/verify", body, limit, (200,), kind="read", about=agent_id)
        )

    async def verify_batch(
        self, requests: Sequence[Mapping[str, Any]], *, timeout: float | None = None
    ) -> list[VerifyVerdict | TrustRankError]:
        """Up to 1,000 verdicts: a verdict or the error of that item alone, in order (SPEC 4.9)."""
        if len(requests) == 0:
            return []
        if len(requests) > BATCH_ITEMS_MAX:
            detail = f"a batch holds at most {BATCH_ITEMS_MAX} requests"
            raise TrustRankError("invalid_argument", detail)
        body = {"items": list(requests)}
        limit = timeout or self._slow_timeout
        value = await self._post("/v1/trust/verify/batch", body, limit, (200,), kind="read")
        return [_item(item, read_verify) for item in read_items(value, len(requests))]

    async def require(self, agent_id: str, *, stakes: float, timeout: float | None = None) -> CheckVerdict:
        """Like `check`, for verdicts that let the call through.

        `escalate` is returned: a person may still approve. Raises TrustGateError on an enforced
        `refuse` (SPEC 4.7), TrustRankError on an outage.
        """
        verdict = await self.check(agent_id, stakes=stakes, timeout=timeout)
        if verdict.decision == "refuse" and verdict.enforced:
            raise refusal(agent_id, verdict)
        return verdict

    async def report_outcome(self, outcome: Outcome, *, timeout: float | None = None) -> Receipt:
        """Reports a settled outcome (SPEC 4.4); returns once it is durable.

        An `id` makes a repeat harmless. Raises TrustRankError when it was not accepted.
        """
        text = _json_of(self._complete(outcome))
        limit = timeout or self._slow_timeout
        kind: CallKind = "identified" if "id" in outcome else "write"
        # The same node as for reads: whoever asks next about this agent finds the outcome.
        about = outcome.get("subject")
        return read_receipt(
            await self._evidence("/v1/outcomes", text, limit, (200, 201), kind, about)
        )

    async def await_review(self, review_id: str, *, timeout: float = REVIEW_TIMEOUT_SEC) -> Review:
        """Waits until a person has decided on the review that a held back verdict names (`review_id`).

        The review then, or as it stands after `timeout` seconds. Ask the question again: it is the
        verdict that counts. The wait outlives restarts of the service. Raises TrustRankError
        `not_found` when there is no such review (any more).
        """

        async def get(path: str, limit: float) -> tuple[int, Any]:
            return await self._transport.send("GET", path, None, limit, kind="wait")

        return await await_review(review_id, timeout, get)

    async def report_outcomes(
        self, outcomes: Iterable[Outcome], *, timeout: float | None = None
    ) -> list[Receipt | TrustRankError]:
        """Reports any number of outcomes, a thousand a request; one result each, in order.

        A refused outcome does not stop the others; when the service does not answer, the rest is
        not sent and has the error as its result. Never raises for what the service says.
        """
        results: list[Receipt | TrustRankError] = []
        outage: TrustRankError | None = None
        given = list(outcomes)
        kind: CallKind = "identified" if all("id" in outcome for outcome in given) else "write"
        for texts in _batches([_json_of(self._complete(outcome)) for outcome in given]):
            if outage is None:
                try:
                    body = "[" + ",".join(texts) + "]"
                    limit = timeout or self._slow_timeout
                    value = await self._evidence("/v1/outcomes/batch", body, limit, (200,), kind)
                    results += [_item(item, read_receipt) for item in read_items(value, len(texts))]
                    continue
                except TrustRankError as error:
                    results += [error] * len(texts)
                    outage = error if error.is_transient else None
                    continue
            results += [outage] * len(texts)
        return results

    def _complete(self, outcome: Outcome) -> Mapping[str, Any]:
        if "reporter" in outcome or self.agent_id is None:
            return outcome
        return {**outcome, "reporter": self.agent_id}

    async def _evidence(
        self,
        path: str,
        body: str,
        limit: float,
        good: tuple[int, ...],
        kind: CallKind,
        about: str | None = None,
    ) -> Any:
        if self._sign is None:
            return await self._post(path, body, limit, good, kind=kind, about=about)
        # A signature has an id of its own.
        headers = {"X-JWS-Signature": self._sign(body)}
        return await self._post(path, body, limit, good, headers, kind="identified", about=about)

    async def _post(
        self,
        path: str,
        body: object,
        limit: float,
        good: tuple[int, ...],
        headers: Mapping[str, str] | None = None,
        *,
        kind: CallKind = "write",
        about: str | None = None,
    ) -> Any:
        status, value = await self._transport.send(
            "POST", path, body, limit, headers, kind=kind, agent_id=about
        )
        if status in good:
            return value
        raise TrustRankError("unexpected_status", f"status {status} is no answer", status=status)


class TrustRank:
    """Client for blocking code; the methods, arguments and errors of `AsyncTrustRank`.

    Safe to share between threads, and in a process that forks after it was made.
    """

    def __init__(
        self, base_url: str | Sequence[str], api_key: str | None = None, **options: Any
    ) -> None:
        self._make = lambda: AsyncTrustRank(base_url, api_key, **options)
        self._client = self._make()
        self._loop = LoopThread()
        self._pid = os.getpid()

    @property
    def agent_id(self) -> str | None:
        return self._client.agent_id

    @property
    def timeout(self) -> float:
        return self._client.timeout

    def __enter__(self) -> TrustRank:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.run(lambda client: client.close())
        self._loop.stop()

    def warm_up(self, timeout: float | None = None) -> bool:
        return self.run(lambda client: client.warm_up(timeout))

    def check(
        self, agent_id: str, *, stakes: float, reserve: bool = True, timeout: float | None = None
    ) -> CheckVerdict:
        return self.run(
            lambda client: client.check(agent_id, stakes=stakes, reserve=reserve, timeout=timeout)
        )

    def handshake(
        self,
        initiator: str | None,
        counterparty: str,
        *,
        stakes: float,
        reserve: bool = True,
        timeout: float | None = None,
    ) -> HandshakeVerdict:
        return self.run(
            lambda client: client.handshake(
                initiator, counterparty, stakes=stakes, reserve=reserve, timeout=timeout
            )
        )

    def verify(self, agent_id: str, **question: Any) -> VerifyVerdict:
        return self.run(lambda client: client.verify(agent_id, **question))

    def verify_batch(
        self, requests: Sequence[Mapping[str, Any]], *, timeout: float | None = None
    ) -> list[VerifyVerdict | TrustRankError]:
        return self.run(lambda client: client.verify_batch(requests, timeout=timeout))

    def require(self, agent_id: str, *, stakes: float, timeout: float | None = None) -> CheckVerdict:
        return self.run(lambda client: client.require(agent_id, stakes=stakes, timeout=timeout))

    def await_review(self, review_id: str, *, timeout: float = REVIEW_TIMEOUT_SEC) -> Review:
        return self.run(lambda client: client.await_review(review_id, timeout=timeout))

    def report_outcome(self, outcome: Outcome, *, timeout: float | None = None) -> Receipt:
        return self.run(lambda client: client.report_outcome(outcome, timeout=timeout))

    def report_outcomes(
        self, outcomes: Iterable[Outcome], *, timeout: float | None = None
    ) -> list[Receipt | TrustRankError]:
        return self.run(lambda client: client.report_outcomes(outcomes, timeout=timeout))

    def run(self, call: Callable[[AsyncTrustRank], Any]) -> Any:
        """Waits for a call of the asynchronous client."""
        if self._pid != os.getpid():
            # Sockets of the parent are the parent's.
            self._client, self._loop, self._pid = self._make(), LoopThread(), os.getpid()
        return self._loop.run(call(self._client))


def verify_request(
    agent_id: str,
    action: str,
    tool_level: str,
    stakes: float | None = None,
    context: Mapping[str, Any] | None = None,
    levels: bool = False,
) -> dict[str, Any]:
    """One question of `verify` or `verify_batch`."""
    body: dict[str, Any] = {"agent_id": agent_id, "action": action, "tool_level": tool_level}
    if stakes is not None:
        body["stakes"] = stakes
    if context is not None:
        body["context"] = dict(context)
    if levels:
        body["levels"] = True
    return body


def _item(item: Mapping[str, Any], read: Callable[[Any], Any]) -> Any:
    status = item.get("status")
    if status in (200, 201):
        return read(item.get("result"))
    error = problem_error(item.get("problem"), status if isinstance(status, int) else 0)
    return error or TrustRankError("malformed_reply", "an item is neither a result nor a problem")


def _batches(texts: Sequence[str]) -> Iterable[list[str]]:
    """As few bodies as the service takes, in order."""
    batch: list[str] = []
    size = 2
    for text in texts:
        added = len(text.encode()) + 1
        if batch and (len(batch) == BATCH_ITEMS_MAX or size + added > OUTCOME_BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 2
        batch.append(text)
        size += added
    if batch:
        yield batch


__all__ = ["AsyncTrustRank", "TrustGateError", "TrustRank", "verify_request"]

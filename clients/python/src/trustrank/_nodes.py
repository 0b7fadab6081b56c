"""The nodes of one bureau: which live, which rest after a fault, and fail-over among them.

An agent keeps its node while that node lives (rendezvous hashing, as the TypeScript client has it), and
the caller's limit holds whatever happens at the nodes. A write is sent twice only where an id makes the
second one harmless.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Literal, Mapping, Sequence

import httpx

from ._errors import TrustRankError
from ._transport import Transport

#: `read`: any node may be asked, two at once too. `wait`: a read that lasts. `identified`: a write that
#: counts once however often it comes. `write`: sent again only if it was certainly not sent.
CallKind = Literal["read", "wait", "identified", "write"]

ADDRESSES_MAX = 32
#: Nodes that one request is put to: a fourth has too little time left to be of use.
ATTEMPTS_MAX = 3
#: Of the first rest; each further fault doubles it.
REST_SEC_MIN = 1.0
REST_SEC_MAX = 30.0
#: A node's own `Retry-After` counts up to this.
RETRY_AFTER_SEC_MAX = 60.0
#: Late answers in a row that are a fault: one is a pause of the node, or of this process.
LATE_MAX = 3
#: Of the question whether a node that has rested is ready.
PROBE_SEC = 1.0
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_WORD = 0xFFFFFFFF


@dataclass(eq=False)
class Node:
    """A node with its record."""

    address: str
    transport: Any
    seed: int
    #: Since the last answer.
    failures: int = 0
    late: int = 0
    #: 0 while it lives.
    rest_until: float = 0.0
    is_probed: bool = False


class NodeSet:
    """Which nodes live, and who is asked first about an agent."""

    def __init__(
        self,
        nodes: Sequence[tuple[str, Any]],
        probe: Callable[[Any], Awaitable[bool]],
        clock: Callable[[], float] = time.monotonic,
        turn: int = 0,
    ) -> None:
        self._nodes = [Node(address, transport, _hash(address)) for address, transport in nodes]
        self._probe = probe
        self._clock = clock
        self._turn = turn
        # Held here: the loop itself keeps no task alive.
        self._probes: set[asyncio.Task[None]] = set()

    def order(self, agent_id: str | None) -> tuple[list[Node], list[Node]]:
        """Who lives, in the order in which to ask; who rests, whoever comes back first in front."""
        self._probe_rested()
        if agent_id is None:
            self._turn += 1
            agent_id = str(self._turn)
        key = _hash(agent_id)
        live = [node for node in self._nodes if node.rest_until == 0]
        resting = [node for node in self._nodes if node.rest_until != 0]
        live.sort(key=lambda node: (-_mixed(node.seed ^ key), node.address))
        resting.sort(key=lambda node: node.rest_until)
        return live, resting

    def answered(self, node: Node) -> None:
        """It answered: it lives, whatever was before."""
        node.failures = 0
        node.late = 0
        node.rest_until = 0

    def was_late(self, node: Node) -> None:
        """It gave no answer in its share of the time."""
        node.late += 1
        if node.late >= LATE_MAX:
            self.failed(node)

    def failed(self, node: Node, retry_after: float | None = None) -> None:
        """It cannot answer: it rests, longer each time, and at least as long as it asked for."""
        now = self._clock()
        # Requests that found nobody else are not faults of their own.
        if node.rest_until <= now:
            node.rest_until = now + min(REST_SEC_MAX, REST_SEC_MIN * 2 ** min(node.failures, 10))
            node.failures += 1
        node.late = 0
        node.rest_until = max(node.rest_until, now + min(RETRY_AFTER_SEC_MAX, retry_after or 0))

    def close(self) -> None:
        for task in self._probes:
            task.cancel()

    def _probe_rested(self) -> None:
        """No timers: the next request finds who has rested, and another node answers it meanwhile."""
        now = self._clock()
        for node in self._nodes:
            if node.rest_until == 0 or node.rest_until > now or node.is_probed:
                continue
            node.is_probed = True
            task = asyncio.ensure_future(self._probe_one(node))
            self._probes.add(task)
            task.add_done_callback(self._probes.discard)

    async def _probe_one(self, node: Node) -> None:
        rest_until = node.rest_until
        try:
            is_ready = await self._probe(node.transport)
        finally:
            node.is_probed = False
        if node.rest_until != rest_until:
            return
        # It lives, but its faults are forgotten only with an answer to a question.
        if is_ready:
            node.rest_until = 0
        else:
            self.failed(node)


class FailOver:
    """The way to several nodes; `send` as of `Transport`."""

    def __init__(self, transports: Sequence[tuple[str, Transport]], hedge_after: float | None) -> None:
        #: Of all nodes.
        self.transports = [transport for _, transport in transports]
        self._nodes = NodeSet(transports, _is_ready, turn=random.randrange(_WORD))
        self._hedge_after = hedge_after

    async def close(self) -> None:
        self._nodes.close()
        for transport in self.transports:
            await transport.close()

    async def reach(self, timeout: float) -> bool:
        """True when any node answered."""
        reached = await asyncio.gather(*(each.reach(timeout) for each in self.transports))
        return any(reached)

    async def send(
        self,
        method: str,
        path: str,
        body: object | None,
        timeout: float,
        headers: Mapping[str, str] | None = None,
        *,
        kind: CallKind = "write",
        agent_id: str | None = None,
    ) -> tuple[int, Any]:
        """The answer of the first node that has one.

        Raises the TrustRankError of the last node asked, or at once what no other would answer better.
        """
        live, resting = self._nodes.order(agent_id)
        nodes = [*live, *resting][:ATTEMPTS_MAX]
        live_count = min(len(live), len(nodes))
        end = time.monotonic() + timeout
        flights: dict[asyncio.Task[tuple[int, Any]], Node] = {}
        begun = 0

        def begin() -> None:
            nonlocal begun
            node, left = nodes[begun], max(0.001, end - time.monotonic())
            # Among the nodes that live; the last of them has all that is left. A long poll cut short
            # has waited for nothing, and a write without an id is not sent again.
            share = left if kind in ("wait", "write") else left / max(1, live_count - begun)
            begun += 1
            call = node.transport.send(method, path, body, share, headers)
            flights[asyncio.ensure_future(call)] = node

        is_hedged = kind == "read" and self._hedge_after is not None and live_count > 1
        hedge_at = time.monotonic() + (self._hedge_after or 0) if is_hedged else None
        try:
            begin()
            while True:
                pause = None if hedge_at is None else max(0.0, hedge_at - time.monotonic())
                ended, _ = await asyncio.wait(
                    flights, timeout=pause, return_when=asyncio.FIRST_COMPLETED
                )
                if not ended:
                    hedge_at = None
                    if begun < len(nodes):
                        begin()
                # The good answer first, should two have ended at once.
                for task in sorted(ended, key=lambda each: each.exception() is not None):
                    node = flights.pop(task)
                    error = task.exception()
                    if error is None:
                        self._nodes.answered(node)
                        return task.result()
                    if not isinstance(error, TrustRankError) or not self._may_repeat(error, node, kind):
                        raise error
                    if begun < len(nodes) and end - time.monotonic() >= 0.001:
                        begin()
                    elif not flights:
                        raise _of_all(error, begun)
        finally:
            for task in flights:
                task.cancel()
            await asyncio.gather(*flights, return_exceptions=True)

    def _may_repeat(self, error: TrustRankError, node: Node, kind: CallKind) -> bool:
        """Notes what the error says of the node, and says whether to ask another."""
        if not error.is_transient or error.status == 429:
            return False
        if error.code == "timeout":
            self._nodes.was_late(node)
        # A node that takes no outcomes (a full disk) may answer questions all the same.
        elif kind in ("read", "wait") or error.status is None:
            self._nodes.failed(node, error.retry_after)
        return kind != "write" or isinstance(error.__cause__, _UNSENT)


def way_to(
    base_url: str | Sequence[str],
    api_key: str | None,
    transport: httpx.AsyncBaseTransport | None,
    hedge_after: float | None,
) -> Transport | FailOver:
    """The way to one address, or over several. Raises TrustRankError for what is no HTTP address."""
    given = [base_url] if isinstance(base_url, str) else list(base_url)
    ways = {address.rstrip("/"): Transport(address, api_key, transport) for address in given}
    if not 1 <= len(ways) <= ADDRESSES_MAX:
        detail = f"`base_url` names one to {ADDRESSES_MAX} addresses"
        raise TrustRankError("invalid_argument", detail)
    if hedge_after is not None and not hedge_after > 0:
        raise TrustRankError("invalid_argument", "`hedge_after` is a number of seconds above 0")
    only, *more = ways.values()
    return FailOver(list(ways.items()), hedge_after) if more else only


async def _is_ready(transport: Transport) -> bool:
    """Any answer but "not now" is a node that works: a proxy in between may know no `/readyz`."""
    try:
        await transport.send("GET", "/readyz", None, PROBE_SEC)
        return True
    except TrustRankError as error:
        return error.status is not None and error.status < 500


def _of_all(error: TrustRankError, count: int) -> TrustRankError:
    if count < 2:
        return error
    whole = TrustRankError(
        error.code,
        f"none of {count} nodes answered; the last: {error}",
        status=error.status,
        retry_after=error.retry_after,
        request_id=error.request_id,
        errors=error.errors,
    )
    whole.__cause__ = error
    return whole


def _hash(text: str) -> int:
    """FNV-1a over UTF-16 units, then mixed: as the TypeScript client has it, so both pick the same."""
    units = text.encode("utf-16-le", "surrogatepass")
    state = 0x811C9DC5
    for at in range(0, len(units), 2):
        state = ((state ^ (units[at] | units[at + 1] << 8)) * 0x01000193) & _WORD
    return _mixed(state)


def _mixed(state: int) -> int:
    """The finalizer of MurmurHash3: every bit of the input moves every bit of the output."""
    state = ((state ^ (state >> 16)) * 0x85EBCA6B) & _WORD
    state = ((state ^ (state >> 13)) * 0xC2B2AE35) & _WORD
    return state ^ (state >> 16)

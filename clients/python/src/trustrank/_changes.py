"""Follows the change feed of a service, so that cached verdicts end with the change that outdates them.

One event stream for each address, reopened from its last position.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Protocol, Sequence
from urllib.parse import quote

#: Without an event for so long a feed is silent, seconds; the service sends one each second.
FEED_SILENCE_SEC = 3.0
#: Lifetime of a verdict whose change could have been missed, seconds.
UNCOVERED_TTL_SEC = 10.0
#: A connection without an event for so long is replaced, seconds.
_STALLED_SEC = 5.0
#: Pauses before the stream is opened again, seconds; doubled with each failure.
_RETRY_SEC_MIN = 0.2
_RETRY_SEC_MAX = 5.0
#: Pause where the service has no feed: another release may have.
_ABSENT_RETRY_SEC = 60.0
#: Bytes of one event; a longer one is not from the service.
_EVENT_BYTES_MAX = 64 * 1024


@dataclass(frozen=True)
class Change:
    """A change at the service that outdates cached verdicts."""

    kind: str
    #: The agent whose verdicts are outdated.
    agent: str | None
    #: Verdicts of all agents below `agent://<namespace>/`; without both those of all agents.
    namespace: str | None

    def affects(self, agent_id: str) -> bool:
        if self.agent is not None:
            return self.agent == agent_id
        return self.namespace is None or agent_id.startswith(f"agent://{self.namespace}/")


class ChangeHandlers(Protocol):
    """What a follower calls, on the event loop that it runs on."""

    def on_change(self, change: Change) -> None: ...

    def on_gap(self) -> None:
        """Changes may have been missed: nothing cached before holds."""

    def on_start(self) -> None:
        """Changes are received from here on; those before are not."""


class ChangeFollower:
    """Follows until closed. Made on a running event loop."""

    def __init__(
        self, transports: Sequence[Any], handlers: Callable[[], ChangeHandlers | None]
    ) -> None:
        """`handlers` gives None once nobody is interested any more; then it ends."""
        self._nodes = [_Node(transport, handlers) for transport in transports]
        self._tasks = [asyncio.ensure_future(node.run()) for node in self._nodes]

    @property
    def is_silent(self) -> bool:
        """Whether a feed that should be heard has not been for three seconds, at any address."""
        present = [node for node in self._nodes if not node.is_absent]
        return len(present) > 0 and all(node.is_silent for node in present)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


class _Node:
    def __init__(self, transport: Any, handlers: Callable[[], ChangeHandlers | None]) -> None:
        #: The address has answered that it has no feed.
        self.is_absent = False
        self._transport = transport
        self._handlers = handlers
        self._heard = time.monotonic()
        self._position: str | None = None
        self._failures = 0

    @property
    def is_silent(self) -> bool:
        return time.monotonic() - self._heard > FEED_SILENCE_SEC

    async def run(self) -> None:
        while self._handlers() is not None:
            try:
                await self._follow_once()
            except asyncio.CancelledError:
                raise
            except Exception:
                self._failures += 1
            await asyncio.sleep(self._pause())

    async def _follow_once(self) -> None:
        since = self._position
        query = "" if since is None else f"?since={quote(since)}"
        stream = self._transport.open_stream(f"/v1/changes{query}", "text/event-stream", _STALLED_SEC)
        async with stream as reply:
            if reply.status == 410:
                self._position = None
                handlers = self._handlers()
                if handlers is not None:
                    handlers.on_gap()
                return
            if reply.status == 429 or reply.status >= 500:
                raise ConnectionError(f"status {reply.status}")
            self.is_absent = reply.status != 200 or reply.content_type != "text/event-stream"
            if self.is_absent:
                return
            is_first = since is None
            async for name, position, data in read_events(reply.pieces):
                handlers = self._handlers()
                if handlers is None:
                    return
                if is_first:
                    handlers.on_start()
                is_first = False
                self._heard, self._failures = time.monotonic(), 0
                if name == "change":
                    handlers.on_change(_read_change(data))
                # Holds no reference while it waits for the next event.
                del handlers
                if position:
                    self._position = position

    def _pause(self) -> float:
        """Spread by chance: thousands of followers lose a node at the same time."""
        retry = min(_RETRY_SEC_MAX, _RETRY_SEC_MIN * 2 ** min(self._failures, 10))
        return (0.5 + random.random() / 2) * (_ABSENT_RETRY_SEC if self.is_absent else retry)


async def read_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, str, str]]:
    """Server-sent events as (name, id, data), of a stream in pieces of any size."""
    text = bytearray()
    name, position, data = "message", "", []
    async for piece in pieces:
        text += piece
        while True:
            end = next((at for at, byte in enumerate(text) if byte in b"\r\n"), -1)
            # A carriage return at the end may be half of a line break.
            if end < 0 or (text[end : end + 1] == b"\r" and end == len(text) - 1):
                break
            line = text[:end].decode("utf-8", "replace")
            del text[: end + (2 if text[end : end + 2] == b"\r\n" else 1)]
            if line == "":
                if data:
                    yield name, position, "\n".join(data)
                name, position, data = "message", "", []
                continue
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if field == "event":
                name = value
            elif field == "id":
                position = value
            elif field == "data":
                data.append(value)
        if len(text) + sum(map(len, data)) > _EVENT_BYTES_MAX:
            raise ValueError("the event is too long")


def _read_change(data: str) -> Change:
    value = json.loads(data)
    members = value if isinstance(value, dict) else {}

    def text(name: str) -> str | None:
        member = members.get(name)
        return member if isinstance(member, str) else None

    return Change(text("kind") or "", text("agent"), text("namespace"))

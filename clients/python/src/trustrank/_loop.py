"""An event loop in a thread of its own, for callers that have none.

The limit of a call holds over connecting, sending and the last byte together. Blocking sockets know
limits for each step alone, so the blocking client is the asynchronous one, waited for.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any, Coroutine, TypeVar

Result = TypeVar("Result")


class LoopThread:
    """Runs coroutines for other threads. Begun again in a forked child: threads do not survive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Waits for the coroutine. Raises what it raises."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._running())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Begins the coroutine and does not wait."""
        asyncio.run_coroutine_threadsafe(coroutine, self._running())

    def is_forked(self) -> bool:
        """Whether this process is a child of the one that began the loop."""
        return self._pid not in (0, os.getpid())

    def stop(self) -> None:
        with self._lock:
            if self._loop is not None and not self.is_forked():
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None
            self._pid = 0

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self.is_forked():
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name="trustrank", daemon=True)
                thread.start()
                self._loop = loop
                self._pid = os.getpid()
            return self._loop

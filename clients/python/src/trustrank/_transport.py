"""One request and its reply: a limit over everything up to the last byte, and every fault as one
TrustRankError. No retry: on the hot path a second attempt at one node only makes the first one's outage
longer. Several nodes: `_nodes`.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, AsyncIterator, Mapping

import httpx

from ._errors import TrustRankError, malformed
from ._messages import problem_error

#: The largest reply: a batch of 1,000 verdicts, with a margin.
REPLY_BYTES_MAX = 4 * 1024 * 1024
_SECONDS = re.compile(r"[0-9]{1,9}")
#: Time for connections to be had from the pool, beside the limit over the whole call.
_CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=30)


@dataclass(frozen=True)
class OpenedStream:
    """An open reply, read piece by piece."""

    status: int
    content_type: str
    pieces: AsyncIterator[bytes]


class Transport:
    """HTTP to one service. Belongs to the event loop that first used it."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if not re.match(r"https?://[^/]", base_url):
            raise TrustRankError(
                "invalid_argument", "`base_url` must begin with http:// or https://"
            )
        self._base = base_url.rstrip("/")
        # For messages: the rest of an address may be a secret.
        url = httpx.URL(base_url)
        self._origin = f"{url.scheme}://{url.host}" + ("" if url.port is None else f":{url.port}")
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, application/problem+json",
        }
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        self._client = httpx.AsyncClient(
            headers=headers,
            # A redirected verdict comes from another service, a proxy of the environment's is not ours.
            follow_redirects=False,
            trust_env=False,
            limits=_CONNECTIONS,
            timeout=None,
            transport=transport,
        )

    async def send(
        self,
        method: str,
        path: str,
        body: object | None,
        timeout: float,
        headers: Mapping[str, str] | None = None,
        **_of_fail_over: object,
    ) -> tuple[int, Any]:
        """Sends JSON (text is sent as it is), or nothing. Returns any reply that is a JSON document.

        A 403 with a verdict included. `timeout` in seconds. Raises TrustRankError for problem
        documents, network faults and timeouts.
        """
        try:
            text = None if body is None else body if isinstance(body, str) else _json_of(body)
            exchange = self._exchange(method, self._base + path, text, headers)
            return await asyncio.wait_for(exchange, timeout)
        except asyncio.TimeoutError:
            detail = f"no answer within {round(timeout * 1000)} ms"
            raise TrustRankError("timeout", detail) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            why = _system_code(error)
            detail = f"the service at {self._origin} cannot be reached" + (f" ({why})" if why else "")
            raise TrustRankError("unreachable", detail) from error

    async def _exchange(
        self, method: str, url: str, text: str | None, headers: Mapping[str, str] | None
    ) -> tuple[int, Any]:
        async with self._client.stream(method, url, content=text, headers=headers) as response:
            status = response.status_code
            kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
            if kind == "application/problem+json":
                retry_after = _retry_after(response)
                problem = problem_error(await _read(response), status, retry_after)
                raise problem or _unexpected(response, f"status {status}")
            if kind != "application/json":
                raise _unexpected(response, f"status {status} without a document")
            if not (200 <= status < 300 or status == 403):
                raise _unexpected(response, f"status {status} is no answer")
            return status, await _read(response)

    @property
    def transports(self) -> list[Transport]:
        return [self]

    @asynccontextmanager
    async def open_stream(
        self, path: str, accept: str, idle: float
    ) -> AsyncIterator[OpenedStream]:
        """Opens a reply that lasts, until `idle` seconds pass without a byte. Raises httpx.HTTPError."""
        url, headers = self._base + path, {"Accept": accept}
        limits = httpx.Timeout(idle)
        async with self._client.stream("GET", url, headers=headers, timeout=limits) as response:
            kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
            yield OpenedStream(response.status_code, kind, response.aiter_bytes())

    async def reach(self, timeout: float) -> bool:
        """Opens a connection; False when nobody answered."""
        try:
            await self.send("GET", "/healthz", None, timeout)
            return True
        except TrustRankError:
            return False

    async def close(self) -> None:
        await self._client.aclose()


def _json_of(body: object) -> str:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise TrustRankError("invalid_argument", f"the request is no JSON: {error}") from None


async def _read(response: httpx.Response) -> Any:
    read = bytearray()
    async for chunk in response.aiter_bytes():
        read += chunk
        if len(read) > REPLY_BYTES_MAX:
            raise malformed("the reply is too long")
    try:
        return json.loads(read.decode("utf-8"))
    except ValueError:
        raise malformed("the reply is not JSON") from None


def _unexpected(response: httpx.Response, detail: str) -> TrustRankError:
    return TrustRankError(
        "unexpected_status",
        detail,
        status=response.status_code,
        retry_after=_retry_after(response),
    )


def _retry_after(response: httpx.Response) -> float | None:
    """`Retry-After` in seconds; its date form would need a clock shared with the service."""
    text = response.headers.get("retry-after", "")
    return float(text) if _SECONDS.fullmatch(text) else None


def _system_code(error: BaseException | None) -> str:
    """`ECONNREFUSED` and the like, which is kept some levels down."""
    import errno

    seen = 0
    while error is not None and seen < 8:
        number = getattr(error, "errno", None)
        if isinstance(number, int) and number in errno.errorcode:
            return errno.errorcode[number]
        error = error.__cause__ or error.__context__
        seen += 1
    return ""

"""Waiting for a person (SPEC 3: `escalate` holds until one has agreed).

Long polls of a review until it is decided, over restarts of the service.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Literal, Mapping
from urllib.parse import quote

from ._errors import TrustRankError
from ._messages import _object, _same, _text, _word

#: Unless the caller says otherwise.
REVIEW_TIMEOUT_SEC = 300.0
#: Of one long poll: proxies between cut off what is silent for a minute.
_WAIT_SEC_MAX = 30
#: Beyond its wait.
_ANSWER_SEC = 5.0
#: Between two polls of which the first did not last.
_PAUSE_SEC = 1.0

#: Gets a path within so many seconds.
Get = Callable[[str, float], Awaitable["tuple[int, Any]"]]


@dataclass(frozen=True)
class Review:
    """An agent that is held back until a person has looked, and what they have decided."""

    id: str
    state: str
    agent: str
    #: The tool level of verify; `connect` for check and handshake.
    level: str
    #: None while nobody has decided.
    decision: Literal["overturned", "upheld"] | None
    note: str | None
    decided_by: str | None
    #: The decision holds before this.
    until: str | None
    in_force: bool
    #: What is overturned is let through up to these stakes; None for any.
    max_stakes: float | None
    raw: Mapping[str, Any] = field(repr=False, compare=False)


def read_review(value: Any, review_id: str) -> Review:
    """A review. Raises TrustRankError `malformed_reply`."""
    members = _object(value, "the review")
    _same(members, "id", review_id)
    state = _word(members, "state", ("open", "claimed", "decided"))
    if state == "decided":
        _word(members, "decision", ("overturned", "upheld"))
    else:
        _same(members, "decision", None)
    return Review(
        id=review_id,
        state=state,
        agent=_text(members, "agent"),
        level=_text(members, "level"),
        decision=members["decision"],
        note=members.get("note"),
        decided_by=members.get("decided_by"),
        until=members.get("until"),
        in_force=members.get("in_force") is True,
        max_stakes=members.get("max_stakes"),
        raw=members,
    )


async def await_review(review_id: str, timeout: float, get: Get) -> Review:
    """The review once it is decided, or as it stands after `timeout` seconds.

    Raises TrustRankError `not_found`, and others that waiting does not mend.
    """
    end = time.monotonic() + timeout
    while True:
        asked = time.monotonic()
        wait = min(_WAIT_SEC_MAX, max(0, math.ceil(end - asked)))
        path = f"/v1/reviews/{quote(review_id, safe='')}?wait={wait}"
        review = None
        try:
            _, value = await get(path, wait + _ANSWER_SEC)
            review = read_review(value, review_id)
        except TrustRankError as error:
            # A service that starts anew knows the review again.
            if not error.is_transient or time.monotonic() + _PAUSE_SEC >= end:
                raise
        now = time.monotonic()
        if review is not None and (review.decision is not None or now >= end):
            return review
        if now - asked < _PAUSE_SEC:
            await asyncio.sleep(max(0.0, min(_PAUSE_SEC, end - now)))

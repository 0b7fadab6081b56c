"""Following the changes of the running service: a gateway drops the verdicts that they outdate."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from typing import AsyncIterator, Callable

import pytest
from conftest import PATIENT_SEC, url_of

from trustrank import AsyncTrustGateway, AsyncTrustRank, Change, TrustGateway, TrustRank
from trustrank._changes import read_events

QUESTION = {"action": "a.b", "tool_level": "L0"}
SENSITIVE = {"action": "a.b", "tool_level": "L3"}


def set_policy() -> None:
    request = urllib.request.Request(
        url_of("TRUSTRANK_TEST_LIVE_URL") + "/v1/policy",
        json.dumps({"levels": {}}).encode(),
        {
            "Authorization": f"Bearer {url_of('TRUSTRANK_TEST_LIVE_KEY')}",
            "Content-Type": "application/json",
        },
        method="PUT",
    )
    urllib.request.urlopen(request, timeout=PATIENT_SEC).read()


def eventually(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENT_SEC
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_policy_ends_cached_verdicts() -> None:
    url, key = url_of("TRUSTRANK_TEST_LIVE_URL"), url_of("TRUSTRANK_TEST_LIVE_KEY")
    with TrustRank(url, key, timeout=PATIENT_SEC) as client:
        gateway = TrustGateway(client)

        def asks_again() -> bool:
            set_policy()
            before = gateway.counts.get("asked", 0)
            gateway.authorize("agent://test/connect", **QUESTION)
            return gateway.counts["asked"] > max(before, 1)

        assert not gateway.authorize("agent://test/connect", **QUESTION).is_cached
        eventually(asks_again)
        gateway.close()
        # Without a feed verdicts live five minutes, whatever changes.
        gateway.authorize("agent://test/connect", **QUESTION)
        set_policy()
        assert gateway.authorize("agent://test/connect", **QUESTION).is_cached


def test_without_a_feed_five_minutes_and_in_silence_ten_seconds(service: str, key: str, set_fault) -> None:
    async def ages(url: str, is_silent: bool | None) -> tuple[bool, bool]:
        now = [0.0]
        async with AsyncTrustRank(service, key, timeout=PATIENT_SEC) as client:
            gateway = AsyncTrustGateway(client, monotonic=lambda: now[0], follow=is_silent is not None)
            await gateway.authorize("agent://test/connect", **SENSITIVE)
            if is_silent is not None:
                follower = gateway._follower
                assert follower is not None
                nodes = follower._nodes
                while not nodes[0].is_absent:
                    await asyncio.sleep(0.01)
                assert not follower.is_silent
                if is_silent:
                    nodes[0].is_absent, nodes[0]._heard = False, time.monotonic() - 3.1
                    assert follower.is_silent
            now[0] = 9.9
            early = await gateway.authorize("agent://test/connect", **SENSITIVE)
            now[0] = 10.1
            late = await gateway.authorize("agent://test/connect", **SENSITIVE)
            return early.is_cached, late.is_cached

    # The service of this fixture has no feed: 404.
    assert asyncio.run(ages(service, False)) == (True, True)
    assert asyncio.run(ages(service, True)) == (True, False)
    assert asyncio.run(ages(service, None)) == (True, True)


def test_what_was_asked_before_the_feed_began_is_not_covered() -> None:
    url, key = url_of("TRUSTRANK_TEST_LIVE_URL"), url_of("TRUSTRANK_TEST_LIVE_KEY")

    async def run() -> None:
        now = [100.0]
        async with AsyncTrustRank(url, key, timeout=PATIENT_SEC) as client:
            gateway = AsyncTrustGateway(client, monotonic=lambda: now[0])
            await gateway.authorize("agent://test/connect", **SENSITIVE)
            now[0] = 101.0
            while gateway._covered_since < 0:
                await asyncio.sleep(0.01)
            if gateway._covered_since == 101.0:
                now[0] = 110.5
                answer = await gateway.authorize("agent://test/connect", **SENSITIVE)
                assert not answer.is_cached
            now[0] += 100
            assert (await gateway.authorize("agent://test/connect", **SENSITIVE)).is_cached

    asyncio.run(run())


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_in_pieces_of_any_size(size: int, end: str) -> None:
    lines = [": comment", "event:change", "id: a-1", "data: {", "data: }", "", "data: x", "", ":"]
    text = end.join(lines).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(text), size):
            yield text[start : start + size]

    async def read() -> list[tuple[str, str, str]]:
        return [event async for event in read_events(pieces())]

    assert asyncio.run(read()) == [("change", "a-1", "{\n}"), ("message", "", "x")]


def test_which_agents_a_change_affects() -> None:
    agents = ["agent://acme/a", "agent://acme2/a", "plain"]

    def affected(agent: str | None, namespace: str | None) -> list[str]:
        return [each for each in agents if Change("x", agent, namespace).affects(each)]

    assert affected("plain", "acme") == ["plain"]
    assert affected(None, "acme") == ["agent://acme/a"]
    assert affected(None, None) == agents

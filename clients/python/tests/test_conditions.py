"""Conditions and the stop, against the running service: refused while they hold, and as before once lifted."""

from __future__ import annotations

import json
import time
import urllib.parse
import urllib.request
import uuid
from typing import Any, Callable, Iterator

import pytest
from conftest import PATIENT_SEC, url_of

from trustrank import TrustGateError, TrustRank

SUSPENDED = {"state": "suspended", "reason": {"code": "fraud"}}
CLEARED = {"state": "cleared", "reason": {"code": "known"}, "max_stakes": 1000}
STOPPED = {"reason": {"code": "incident"}}


def send(method: str, route: str, body: object = None) -> None:
    request = urllib.request.Request(
        url_of("TRUSTRANK_TEST_LIVE_URL") + route,
        None if body is None else json.dumps(body).encode(),
        {
            "Authorization": f"Bearer {url_of('TRUSTRANK_TEST_LIVE_KEY')}",
            "Content-Type": "application/json",
        },
        method=method,
    )
    urllib.request.urlopen(request, timeout=PATIENT_SEC).read()


@pytest.fixture
def live() -> Iterator[TrustRank]:
    url, key = url_of("TRUSTRANK_TEST_LIVE_URL"), url_of("TRUSTRANK_TEST_LIVE_KEY")
    with TrustRank(url, key, agent_id="agent://acme/me", timeout=PATIENT_SEC) as client:
        yield client


@pytest.fixture
def agent() -> str:
    """A name of its own: the service outlives a run."""
    return f"agent://pythons/{uuid.uuid4().hex}"


@pytest.fixture
def command() -> Iterator[Callable[[str, object], None]]:
    """Sets a condition or a stop, and lifts it at the end where the test has not."""
    standing: list[str] = []

    def put(route: str, body: object) -> None:
        if body is not None:
            send("PUT", route, body)
            standing.append(route)
        else:
            send("DELETE", route)
            standing.remove(route)

    yield put
    for route in standing:
        send("DELETE", route)


def route_of(agent: str) -> str:
    return f"/v1/agents/{urllib.parse.quote(agent, safe='')}/condition"


def words_of(client: TrustRank, agent: str, stakes: float = 1) -> dict[str, Any]:
    """What each question about the agent is answered."""
    verdict = client.verify(agent, action="order.place", tool_level="L2", stakes=stakes)
    check = client.check(agent, stakes=stakes)
    shaken = client.handshake("agent://test/connect", agent, stakes=stakes)
    return {
        "verify": (verdict.verdict, verdict.log_reason),
        "check": (check.decision, check.allowed),
        "handshake": (shaken.decision, shaken.connected),
    }


def test_a_suspension_refuses_what_a_clearance_allowed(
    live: TrustRank, agent: str, command: Callable[[str, object], None]
) -> None:
    route = route_of(agent)
    unknown = words_of(live, agent)
    command(route, {**CLEARED, "until": int(time.time() * 1000) + 3_600_000})
    cleared = words_of(live, agent)
    assert cleared["verify"] == ("ALLOW", "CLEARED")
    assert cleared["check"] == ("connect", True)
    assert live.require(agent, stakes=1).decision == "connect"
    command("/v1/namespaces/pythons/condition", SUSPENDED)
    assert words_of(live, agent) == {
        "verify": ("BLOCK", "SUSPENDED"),
        "check": ("refuse", False),
        "handshake": ("refuse", False),
    }
    with pytest.raises(TrustGateError) as caught:
        live.require(agent, stakes=1)
    assert caught.value.decision == "refuse"
    command("/v1/namespaces/pythons/condition", None)
    assert words_of(live, agent) == cleared
    command(route, None)
    assert words_of(live, agent) == unknown


def test_a_stop_refuses_all_agents_but_the_reserved_ones(
    live: TrustRank, agent: str, command: Callable[[str, object], None]
) -> None:
    before = words_of(live, agent)
    command("/v1/stop", STOPPED)
    assert words_of(live, agent)["verify"] == ("BLOCK", "STOPPED")
    assert words_of(live, agent)["check"] == ("refuse", False)
    assert live.check("agent://test/connect", stakes=1).allowed
    command("/v1/stop", None)
    assert words_of(live, agent) == before

"""Waiting for a person, against the running service with its queue of reviews."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
import uuid
from typing import Iterator

import pytest
from conftest import PATIENT_SEC, url_of

from trustrank import TrustRank, TrustRankError


@pytest.fixture
def live() -> Iterator[TrustRank]:
    url, key = url_of("TRUSTRANK_TEST_LIVE_URL"), url_of("TRUSTRANK_TEST_LIVE_KEY")
    with TrustRank(url, key, timeout=PATIENT_SEC) as client:
        yield client


def held(client: TrustRank) -> tuple[str, str]:
    """An agent that nobody knows, and its review at stakes that hold it back.

    The name is new each time: the service outlives a run, and with it what a review let through.
    """
    agent = f"agent://pythons/{uuid.uuid4().hex}"
    for power in range(30):
        verdict = client.check(agent, stakes=2**power)
        if verdict.decision == "escalate":
            assert verdict.review_id is not None
            return agent, verdict.review_id
        assert verdict.review_id is None
    raise AssertionError("nothing holds it back")


def decide(review_id: str, decision: str) -> None:
    bounds = {"until": int(time.time() * 1000) + 60_000, "max_stakes": "any"}
    terms = bounds if decision == "overturned" else {}
    request = urllib.request.Request(
        f"{url_of('TRUSTRANK_TEST_LIVE_URL')}/v1/reviews/{review_id}/decision",
        json.dumps({"decision": decision, **terms}).encode(),
        {
            "Authorization": f"Bearer {url_of('TRUSTRANK_TEST_LIVE_KEY')}",
            "Content-Type": "application/json",
        },
    )
    urllib.request.urlopen(request, timeout=PATIENT_SEC).read()


@pytest.mark.parametrize("decision", ["overturned", "upheld"])
def test_it_ends_with_the_decision(live: TrustRank, decision: str) -> None:
    agent, review_id = held(live)
    threading.Timer(0.3, decide, (review_id, decision)).start()
    review = live.await_review(review_id, timeout=PATIENT_SEC)
    assert (review.id, review.state, review.decision) == (review_id, "decided", decision)
    assert review.agent == agent and review.level == "connect"


def test_it_gives_the_open_review_when_nobody_decides(live: TrustRank) -> None:
    started = time.monotonic()
    review = live.await_review(held(live)[1], timeout=1.0)
    assert (review.state, review.decision) == ("open", None)
    assert time.monotonic() - started >= 0.9


def test_it_gives_up_at_what_waiting_does_not_mend(live: TrustRank) -> None:
    with pytest.raises(TrustRankError) as caught:
        live.await_review("rv_0000000000000000", timeout=PATIENT_SEC)
    assert caught.value.status in (400, 404, 422)


def test_it_waits_over_faults_that_pass(live: TrustRank) -> None:
    url, key = url_of("TRUSTRANK_TEST_LIVE_URL"), url_of("TRUSTRANK_TEST_LIVE_KEY")
    _, review_id = held(live)
    # A node that refuses connections, and one that answers: a long poll goes to the other.
    with TrustRank(["http://127.0.0.1:9", url], key, timeout=PATIENT_SEC) as client:
        threading.Timer(0.3, decide, (review_id, "upheld")).start()
        assert client.await_review(review_id, timeout=PATIENT_SEC).decision == "upheld"
    with TrustRank("http://127.0.0.1:9", key) as nowhere, pytest.raises(TrustRankError) as caught:
        nowhere.await_review(review_id, timeout=1.5)
    assert caught.value.code == "unreachable"


def malformed_member(decision: object, state: str) -> dict[str, object]:
    return {"id": "r", "state": state, "agent": "agent://a/b", "level": "L2", "decision": decision}


@pytest.mark.parametrize(
    "value",
    [
        malformed_member("maybe", "decided"),
        malformed_member("upheld", "open"),
        malformed_member(None, "gone"),
        {**malformed_member(None, "open"), "id": "other"},
        [],
    ],
)
def test_a_reply_that_is_no_review_is_none(value: object) -> None:
    from trustrank._review import read_review

    with pytest.raises(TrustRankError) as caught:
        read_review(value, "r")
    assert caught.value.code == "malformed_reply"

"""Questions and answers over the real service."""

from __future__ import annotations

import asyncio
import os

import httpx
import pytest
from conftest import PATIENT_SEC

from trustrank import (
    AsyncTrustRank,
    TrustGateError,
    TrustRank,
    TrustRankError,
    guard,
    verify_request,
)


def agent(name: str) -> str:
    return f"agent://test/{name}"


def test_check_gives_a_verdict_and_never_raises_for_a_low_score(client: TrustRank) -> None:
    trusted = client.check(agent("connect"), stakes=5)
    assert (trusted.decision, trusted.allowed, trusted.is_let_through) == ("connect", True, True)
    refused = client.check(agent("refuse"), stakes=5)
    assert (refused.decision, refused.allowed) == ("refuse", False)
    assert refused.reasons and refused.request_id != trusted.request_id
    assert refused.lifetime == 300


def test_handshake_takes_the_stricter_leg(client: TrustRank) -> None:
    verdict = client.handshake(agent("connect"), agent("refuse"), stakes=5)
    assert (verdict.decision, verdict.connected) == ("refuse", False)
    assert verdict.a_to_b.subject == agent("refuse") and verdict.b_to_a.is_open


def test_verify_and_its_batch_agree(client: TrustRank) -> None:
    question = {"action": "payments.transfer", "tool_level": "L2", "stakes": 1.0}
    one = client.verify(agent("refuse"), **question)
    assert (one.verdict, one.log_reason) == ("BLOCK", "REFUSE_RULE")
    many = client.verify_batch(
        [verify_request(agent("refuse"), **question), {"agent_id": 7, "action": "", "tool_level": "L9"}]
    )
    assert many[0].verdict == "BLOCK"
    error = many[1]
    assert isinstance(error, TrustRankError) and error.errors


def test_require_and_guard_run_what_is_trusted_alone(client: TrustRank) -> None:
    ran: list[str] = []

    @guard(client, agent_id=lambda name, **_: agent(name), stakes=lambda *_, amount: amount)
    def pay(name: str, *, amount: float) -> str:
        ran.append(name)
        return "sent"

    assert pay("connect", amount=5) == "sent"
    for name in ("refuse", "escalate"):
        with pytest.raises(TrustGateError) as caught:
            pay(name, amount=5)
        assert caught.value.decision == name
    with pytest.raises(TrustGateError, match="callback `stakes` failed"):
        pay("connect")  # type: ignore[call-arg]
    assert ran == ["connect"]
    assert client.require(agent("escalate"), stakes=5).decision == "escalate"


def test_guard_asks_a_person_where_the_verdict_says_so(client: TrustRank) -> None:
    answers = iter([True, "yes", RuntimeError("gone")])

    def ask(verdict: object, name: str) -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    run = guard(client, agent_id=agent, stakes=5, on_escalate=ask)(lambda name: "ran")
    assert run("escalate") == "ran"
    for _ in range(2):
        with pytest.raises(TrustGateError):
            run("escalate")


def test_asyncio_has_the_same_answers(service: str, key: str) -> None:
    async def play() -> None:
        async with AsyncTrustRank(service, key, timeout=PATIENT_SEC) as client:
            assert await client.warm_up()
            verdicts = await asyncio.gather(
                *(client.check(agent(name), stakes=5) for name in ("connect", "verify", "refuse"))
            )
            decisions = [verdict.decision for verdict in verdicts]
            assert decisions == ["connect", "connect_with_verification", "refuse"]

            @guard(client, agent_id=agent, stakes=5)
            async def run(name: str) -> str:
                return "ran"

            assert await run("connect") == "ran"
            with pytest.raises(TrustGateError):
                await run("refuse")

    asyncio.run(play())


def test_a_bad_request_is_an_error_with_a_pointer(client: TrustRank) -> None:
    with pytest.raises(TrustRankError) as caught:
        client.check("agent://not an agent", stakes=5)
    assert caught.value.status == 400 or caught.value.status == 422
    assert caught.value.errors[0]["pointer"] == "/subject"
    assert not caught.value.is_transient
    for wrong in (float("nan"), {1}):
        with pytest.raises(TrustRankError, match="no JSON"):
            client.check(agent("connect"), stakes=wrong)  # type: ignore[arg-type]
    with pytest.raises(TrustRankError, match="must begin with"):
        TrustRank("localhost:8080")


def test_a_forked_child_asks_over_connections_of_its_own(client: TrustRank) -> None:
    client.check(agent("connect"), stakes=5)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if client.check(agent("refuse"), stakes=5).decision == "refuse" else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.check(agent("connect"), stakes=5).allowed


@pytest.mark.parametrize(
    "change",
    [
        {"decision": "maybe"},
        {"subject": "agent://test/other"},
        {"allowed": False},
        {"stakes": 6},
        {"effective_score": "high"},
        {"reasons": [1]},
        {"expires_at": "1999-01-01T00:00:00Z"},
        {"enforced": 1},
    ],
)
def test_a_reply_that_contradicts_itself_is_no_verdict(client: TrustRank, change: dict) -> None:
    raw = dict(client.check(agent("connect"), stakes=5).raw)

    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={**raw, **change})

    own = TrustRank("http://trust", transport=httpx.MockTransport(answer), timeout=PATIENT_SEC)
    with pytest.raises(TrustRankError) as caught:
        own.check(agent("connect"), stakes=5)
    assert caught.value.code == "malformed_reply"

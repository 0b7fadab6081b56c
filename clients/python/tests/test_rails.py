"""Rails: what runs, what is reported, by the contract of the TypeScript client's table."""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from trustrank import AgentFaultError, HandshakeGate, OutcomeReport, ToolEnd, TrustRank, gated
from trustrank.langchain import langchain_gate
from trustrank.openai_agents import openai_tool
from trustrank.signing import OutcomeSigner, generate_signing_key

RAN: list[str] = []


@pytest.fixture
def gate(client: TrustRank) -> HandshakeGate:
    RAN.clear()
    return HandshakeGate(
        client,
        initiator="agent://test/connect",
        counterparty=lambda given: f"agent://test/{given['counterparty']}",
        stakes=lambda given: given["amount"],
    )


@pytest.fixture
def report(client: TrustRank) -> OutcomeReport:
    # Outcomes of the reserved agents are refused: a shop of the same name takes their place.
    def subject(end: ToolEnd) -> str | None:
        known = None if end.decision is None else end.decision.subject
        return None if known is None else known.replace("://test/", "://shop/")

    return OutcomeReport(client, subject=subject, is_agent_fault=lambda end: end.error is None)


def transfer(counterparty: str, amount: float) -> Any:
    RAN.append(counterparty)
    if amount == 13:
        raise OSError("the bank is closed")
    return {"isError": True} if amount == 14 else "sent"


def sent(report: OutcomeReport) -> int:
    report.queue.flush(30)
    return report.queue.counts["sent"]


def test_runs_refuses_parks_and_reports(gate: HandshakeGate, report: OutcomeReport) -> None:
    approvals = iter([True, False])
    pay = gated(
        gate, tool_name="pay", report=report, approve=lambda given, reason: next(approvals)
    )(transfer)
    assert pay(counterparty="connect", amount=5) == "sent"
    assert pay(counterparty="refuse", amount=5).startswith("refused: ")
    assert pay(counterparty="escalate", amount=5) == "sent"
    assert pay(counterparty="escalate", amount=5).startswith("refused: a person must")
    assert pay(counterparty="connect", amount=14) == {"isError": True}
    with pytest.raises(OSError):
        pay(counterparty="connect", amount=13)
    assert RAN == ["connect", "escalate", "connect", "connect"]
    assert sent(report) == 4
    assert set(report.skipped.values()) == {0}


def test_a_callback_that_raises_denies(client: TrustRank) -> None:
    gate = HandshakeGate(client, stakes=lambda given: given["nothing"])
    decision = gate.decide({"counterparty": "agent://test/connect"})
    assert (decision.action, decision.verdict) == ("deny", None)
    down = TrustRank("http://127.0.0.1:9", timeout=30)
    unreachable = HandshakeGate(down, initiator="agent://a/b", stakes=lambda given: 1)
    assert unreachable.decide({"counterparty": "agent://c/d"}).reason == "no trust verdict (unreachable)"


def test_asyncio_tools_are_gated_and_cancelled_ones_not_reported(
    gate: HandshakeGate, report: OutcomeReport
) -> None:
    async def hangs(counterparty: str, amount: float) -> None:
        RAN.append(counterparty)
        await asyncio.sleep(3600)

    async def play() -> None:
        pay = gated(gate, tool_name="pay", report=report)(hangs)
        task = asyncio.ensure_future(pay(counterparty="connect", amount=5))
        while not RAN:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(play())
    assert (sent(report), report.skipped["unfinished"]) == (0, 1)


def test_openai_agents_keep_their_signature(gate: HandshakeGate, report: OutcomeReport) -> None:
    class RunContextWrapper:
        pass

    @openai_tool(gate, tool_name="pay", report=report)
    async def pay(context: RunContextWrapper, counterparty: str, amount: float) -> str:
        assert isinstance(context, RunContextWrapper)
        return transfer(counterparty, amount)

    assert list(inspect.signature(pay).parameters) == ["context", "counterparty", "amount"]
    assert asyncio.run(pay(RunContextWrapper(), "connect", amount=5)) == "sent"
    assert asyncio.run(pay(RunContextWrapper(), "refuse", 5)).startswith("refused: ")
    assert sent(report) == 1


def test_langchain_refuses_parks_reports_and_skips_what_did_not_run(
    gate: HandshakeGate, report: OutcomeReport
) -> None:
    class ToolInvocationError(Exception):
        pass

    resumed: list[Any] = [
        {"decisions": [{"type": "approve"}]},
        {"decisions": [{"type": "approve"}, {"type": "reject"}]},
        {"type": "reject"},
        "approve",
    ]
    wrap = langchain_gate(
        gate,
        tool_message=lambda **fields: SimpleNamespace(**fields),
        interrupt=lambda asked: resumed.pop(0),
        report=report,
    )

    def request(counterparty: str, tool: Any = transfer) -> Any:
        args = {"counterparty": counterparty, "amount": 5}
        return SimpleNamespace(tool_call={"name": "pay", "id": "c-1", "args": args}, tool=tool)

    def handler(asked: Any) -> Any:
        return transfer(**asked.tool_call["args"])

    def invalid(_asked: Any) -> Any:
        raise ToolInvocationError

    assert wrap(None, request("connect"), handler) == "sent"
    assert wrap(None, request("refuse"), handler).status == "error"
    assert wrap(None, request("escalate"), handler) == "sent"
    for _ in range(3):
        assert wrap(None, request("escalate"), handler).content == "refused: not approved by a person"
    with pytest.raises(ToolInvocationError):
        wrap(None, request("connect"), invalid)
    wrap(None, request("connect", tool=None), lambda _asked: SimpleNamespace(status="error"))
    assert (sent(report), RAN) == (2, ["connect", "escalate"])


def test_langchain_takes_the_message_in_a_command_for_the_answer(
    gate: HandshakeGate, client: TrustRank
) -> None:
    ends: list[ToolEnd] = []
    wrap = langchain_gate(gate, tool_message=dict, interrupt=lambda asked: None, report=ends.append)
    call = {"name": "pay", "id": "c-2", "args": {"counterparty": "connect", "amount": 5}}
    messages = [
        SimpleNamespace(tool_call_id="c-1", status="success"),
        SimpleNamespace(tool_call_id="c-2", status="error"),
    ]
    for update in ({"messages": messages}, [("messages", messages)], {"messages": messages[:1]}):
        wrap(None, SimpleNamespace(tool_call=call), lambda _: SimpleNamespace(update=update))
    assert [end.is_success for end in ends] == [False, False, True]


def test_a_raise_is_reported_only_where_something_says_whose_fault_it_was(client: TrustRank) -> None:
    report = OutcomeReport(client, subject=lambda end: "agent://shop/connect")
    offered: list[Any] = []
    report.queue.offer = offered.append  # type: ignore[method-assign]

    class OfAnotherCopy(Exception):
        agent_fault = True

    class Excused(Exception):
        agent_fault = False

    late = AgentFaultError("late")
    late.__cause__ = TimeoutError()
    wrapped = RuntimeError("wrapped")
    wrapped.__cause__ = AgentFaultError("nothing was sent")
    circle = RuntimeError("round")
    circle.__cause__ = circle
    for error in (late, wrapped, OfAnotherCopy(), Excused()):
        report(ToolEnd("pay", {}, error=error))
    assert [outcome.get("agent_fault") for outcome in offered] == [True, True, True, False]
    for error in (OSError("closed"), circle):
        report(ToolEnd("pay", {}, error=error))
    cut: list[BaseException] = [TimeoutError(), asyncio.TimeoutError(), asyncio.CancelledError()]
    for cause in cut:
        report(ToolEnd("pay", {}, error=cause))
    assert (report.skipped["fault_unknown"], report.skipped["unfinished"]) == (2, 3)
    assert len(offered) == 4


def test_a_lost_outcome_is_said_once_until_it_works_again(
    client: TrustRank, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    report = OutcomeReport(client, subject=lambda end: end.input, monotonic=lambda: now[0])

    def play(name: str) -> int:
        report(ToolEnd("pay", name, output="sent"))
        report.queue.flush(30)
        now[0] += 60
        return len(caplog.records)

    assert [play("agent://test/connect") for _ in range(2)] == [1, 1]
    assert "refused (reserved_agent: " in caplog.text
    report.queue._accepted = now[0]
    assert play("agent://test/connect") == 2
    assert report.queue.counts["dropped"] == 3


def test_the_queue_drops_what_the_service_refuses_and_says_so(client: TrustRank) -> None:
    dropped: list[tuple[str, str | None]] = []
    report = OutcomeReport(
        client,
        subject=lambda end: "agent://test/connect",
        on_drop=lambda outcome, why, error: dropped.append((why, error and error.code)),
    )
    report(ToolEnd("pay", {}, output="sent"))
    assert sent(report) == 0
    assert dropped == [("refused", "reserved_agent")]


def test_an_outage_costs_the_outcome_and_nobody_a_turn() -> None:
    down = TrustRank("http://127.0.0.1:9", agent_id="agent://acme/me")
    report = OutcomeReport(down, subject=lambda end: "agent://shop/seller", pause=0.01)
    report(ToolEnd("pay", {}, output="sent"))
    report.queue.flush(30)
    assert report.queue.counts == {"offered": 1, "sent": 0, "dropped": 1, "retried": 4}


def test_a_signature_names_its_key_and_covers_the_body() -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from trustrank.signing import _bytes

    signer = OutcomeSigner(generate_signing_key(), "bureau-1", now=lambda: 1_700_000_000.5)
    head, payload, signature = signer('{"a":1}').split(".")
    public = Ed25519PublicKey.from_public_bytes(_bytes(signer.public_jwk["x"]))
    public.verify(_bytes(signature), f'{head}.{{"a":1}}'.encode())
    assert payload == ""


def test_an_attestation_names_its_key_and_holds_the_transaction() -> None:
    import json

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from trustrank.signing import _bytes

    signer = OutcomeSigner(generate_signing_key(), "bureau-1", now=lambda: 1_700_000_000.5)
    transaction = {"transaction_id": "order-1", "subject": "agent://b/s", "outcome": 1}
    head, payload, signature = signer.attest(transaction).split(".")
    public = Ed25519PublicKey.from_public_bytes(_bytes(signer.public_jwk["x"]))
    public.verify(_bytes(signature), f"{head}.{payload}".encode())
    assert json.loads(_bytes(payload)) == transaction
    assert json.loads(_bytes(head)) == {
        "alg": "Ed25519",
        "kid": signer.kid,
        "typ": "transaction+jws",
        "iat": 1_700_000_000,
        "aud": "bureau-1",
    }

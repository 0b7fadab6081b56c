"""The golden decisions and the fault table, row by row as the TypeScript client has them."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest
from conftest import HASTY_SEC, PATIENT_SEC, rows_of

from trustrank import AsyncTrustGateway, AsyncTrustRank, TrustGateway, TrustRank, fail_policy

LEVELS = ("L0", "L1", "L2", "L3")
#: Faults without a verdict, as the conformance suite of the TypeScript client plays them.
FAULTS = [
    {"kind": "delay", "ms": 3000},
    {"kind": "silence"},
    {"kind": "refused"},
    {"kind": "reset"},
    {"kind": "half_head"},
    {"kind": "half_body"},
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 503},
    {"kind": "status", "status": 401},
    {"kind": "status", "status": 403},
    {"kind": "garbage"},
    {"kind": "wrong_type"},
    {"kind": "not_http"},
]


def test_golden_decisions(client: TrustRank) -> None:
    rows = rows_of("gateway-decisions.txt")
    assert len(rows) >= 20
    gateway, across = TrustGateway(client), TrustGateway(client)
    for name, level, verdict, label, effect in rows:
        # As the suite asks for them all: content is what the reserved agent says it is.
        question = {"action": "payments.transfer", "tool_level": level, "stakes": 1.0}
        fresh = gateway.authorize(f"agent://test/{name}", **question)
        cached = gateway.authorize(f"agent://test/{name}", **question)
        gateway.forget(f"agent://test/{name}")
        # What another level's answer said of this one, where it did.
        other = across.authorize(f"agent://test/{name}", **question)
        for answer in (fresh, cached, other):
            found = (answer.word, answer.reason, "allow" if answer.allowed else "deny")
            assert found == (verdict, label, effect), (name, level)
            assert answer.headers()["X-Trust-Effective"] == effect
        assert (fresh.is_cached, cached.is_cached) == (False, True)


def test_another_levels_answer_names_no_review_and_a_marked_one_passes(client: TrustRank) -> None:
    held = client.verify("agent://test/connect", action="a.b", tool_level="L1", levels=True)
    marked = replace(
        held.levels["L2"], verdict="ALLOW", log_reason="STAKES_NEED_VERIFICATION", max_stakes=50.0
    )
    waiting = replace(held, verdict="CHALLENGE", review_id="rv-1")
    assert not waiting.is_let_through
    other = waiting.at_level(marked)
    assert (other.is_let_through, other.log_reason, other.review_id) == (
        True,
        "STAKES_NEED_VERIFICATION",
        None,
    )


def test_fail_policy_is_the_table_of_the_specification() -> None:
    for level, action, _status, mark, _alerts, log, _retry in rows_of("fail-policy.txt"):
        policy = fail_policy(level)
        assert ("ALLOW" if policy.is_open else "BLOCK", policy.name) == (action, mark)
        assert policy.is_logged == (log == "1")
    assert not fail_policy("L4").is_open


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: "-".join(map(str, fault.values())))
def test_fault_table(fault: dict, set_fault, key: str) -> None:
    proxy = set_fault(**fault)
    table = {row[0]: row for row in rows_of("fail-policy.txt")}
    alerts: list[object] = []
    with TrustRank(proxy, key, timeout=HASTY_SEC) as client:
        for level in LEVELS:
            gateway = TrustGateway(client, on_alert=lambda *told: alerts.append(told))
            alerts.clear()
            question = {"action": "payments.transfer", "tool_level": level}
            answer = gateway.authorize("agent://test/connect", **question)
            # Silence costs the limit each time; the second question is for the alerts alone.
            if fault["kind"] not in ("silence", "delay"):
                gateway.authorize("agent://test/connect", **question)
            _, action, status, mark, alerts_due, _, retry = table[level]
            assert answer.degraded and answer.error is not None
            assert (answer.word, answer.status, answer.fail_policy) == (action, int(status), mark)
            assert ("-" if answer.retry_after is None else str(answer.retry_after)) == retry
            assert len(alerts) == int(alerts_due)


def test_with_no_fault_and_within_the_limit_there_is_a_verdict(set_fault, key: str) -> None:
    for fault in ({"kind": "none"}, {"kind": "delay", "ms": 100}):
        proxy = set_fault(**fault)
        with TrustRank(proxy, key, timeout=PATIENT_SEC) as client:
            answer = TrustGateway(client).authorize(
                "agent://test/connect", action="payments.transfer", tool_level="L3", stakes=1.0
            )
            assert (answer.allowed, answer.degraded, answer.status) == (True, False, 200)


def test_what_a_caller_got_wrong_says_nothing_about_the_service(client: TrustRank) -> None:
    alerts: list[object] = []
    gateway = TrustGateway(client, on_alert=lambda *told: alerts.append(told))
    for stakes in (-1.0, float("nan"), 1e13, "many"):
        answer = gateway.authorize("agent://test/connect", action="a.b", tool_level="L0", stakes=stakes)
        assert (answer.allowed, answer.status) == (False, 403)
    assert alerts == []


def test_one_read_serves_all_levels(client: TrustRank) -> None:
    gateway = TrustGateway(client)
    agent = "agent://acme/ledger-sync"
    answers = {
        level: gateway.authorize(agent, action="a.b", tool_level=level, stakes=1.0) for level in LEVELS
    }
    assert gateway.counts["asked"] == 1
    for level, answer in answers.items():
        fresh = client.verify(agent, action="a.b", tool_level=level, stakes=1.0)
        assert answer.verdict is not None
        told = (answer.word, answer.reason, answer.verdict.threshold_met, answer.verdict.max_stakes)
        assert told == (fresh.verdict, fresh.log_reason, fresh.threshold_met, fresh.max_stakes)
        assert answer.verdict.reason_codes == fresh.reason_codes
    # Beyond the stakes that the answer names it is asked again, and said otherwise.
    holds = answers["L0"].verdict.levels["L3"]
    beyond = gateway.authorize(agent, action="a.b", tool_level="L3", stakes=holds.holds_to * 1.01)
    assert (beyond.is_cached, beyond.allowed) == (False, False)
    assert gateway.counts["asked"] == 2
    gateway.forget(agent)
    gateway.authorize(agent, action="a.b", tool_level="L3", stakes=1.0)
    assert gateway.counts["asked"] == 3


def test_what_must_be_on_record_is_asked(client: TrustRank) -> None:
    gateway = TrustGateway(client)
    for level in ("L2", "L3", "L2"):
        answer = gateway.authorize("agent://test/refuse", action="a.b", tool_level=level)
        assert (answer.word, answer.status) == ("BLOCK", 403)
    assert gateway.counts["asked"] == 2


def test_levels_at_once_share_one_question(service: str, key: str) -> None:
    async def ask_all() -> tuple[int, list[bool]]:
        async with AsyncTrustRank(service, key, timeout=PATIENT_SEC) as client:
            gateway = AsyncTrustGateway(client)
            questions = [
                gateway.authorize("agent://test/connect", action="a.b", tool_level=level)
                for level in LEVELS
            ]
            answers = await asyncio.gather(*questions)
            return gateway.counts["asked"], [answer.allowed for answer in answers]

    assert asyncio.run(ask_all()) == (1, [True] * 4)


def test_alerts_by_default_with_count_and_start_once_a_minute(
    set_fault, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    proxy, now = set_fault(kind="refused"), [0.0]
    with TrustRank(proxy, key, timeout=HASTY_SEC) as client:
        gateway = TrustGateway(client, monotonic=lambda: now[0])
        question = {"action": "a.b", "tool_level": "L3"}
        for now[0] in (0.0, 1.0, 59.0, 60.0):
            gateway.authorize("agent://test/connect\nforged", **question)
        set_fault(kind="none")
        gateway.authorize("agent://test/connect", **question)
    first, second, end = [record.getMessage() for record in caplog.records]
    assert re.fullmatch(
        r"no verdict \(unreachable\); 1 blocked since \S+Z; newest: 'agent://test/connect\\nforged' at L3",
        first,
    )
    assert "; 4 blocked since " in second
    assert re.fullmatch(r"verdicts are available again; 4 blocked from \S+Z to \S+Z", end)
    assert {record.levelname for record in caplog.records} == {"ERROR"}


def test_flagged_answers_are_marked_and_noticed_once_an_hour(client: TrustRank) -> None:
    now, noticed = [0.0], []
    gateway = TrustGateway(
        client,
        monotonic=lambda: now[0],
        on_flagged=lambda answer, agent, level: noticed.append((answer.reason, agent, level)),
    )
    for now[0] in (0.0, 3599.0, 3600.0):
        answer = gateway.authorize("agent://test/hallucinated", action="a.b", tool_level="L1")
        assert (answer.allowed, answer.headers()["X-Trust-Flagged"]) == (True, "true")
    assert noticed == [("CONTENT_HALLUCINATED", "agent://test/hallucinated", "L1")] * 2
    clear = gateway.authorize("agent://test/connect", action="a.b", tool_level="L1")
    assert not clear.flagged and "X-Trust-Flagged" not in clear.headers()


def test_verification_decides_on_a_challenge_for_one_call(client: TrustRank) -> None:
    question = {"action": "a.b", "tool_level": "L2"}
    due = TrustGateway(client).authorize("agent://test/verify", **question)
    assert (due.allowed, due.status, due.verification) == (False, 403, "due")

    async def passes(*_: object) -> bool:
        return True

    def fails(*_: object) -> bool:
        raise RuntimeError("no second factor")

    results = [lambda *_: True, passes, lambda *_: 1, lambda *_: False, fails, lambda *_: True]
    asked: list[tuple[str, str]] = []

    def verification(verdict: object, agent: str, action: str) -> object:
        asked.append((agent, action))
        return results[len(asked) - 1](verdict)

    gateway = TrustGateway(client, verification=verification)
    seen = []
    for _ in results:
        answer = gateway.authorize("agent://test/verify", **question)
        seen.append((answer.status, answer.verification))
    passed, failed = (200, "passed"), (403, "failed")
    assert seen == [passed, passed, failed, failed, failed, passed]
    assert gateway.counts["asked"] == 1
    assert asked == [("agent://test/verify", "a.b")] * len(results)
    for name in ("escalate", "refuse"):
        assert gateway.authorize(f"agent://test/{name}", **question).status == 403
    assert len(asked) == len(results)
    with pytest.raises(TypeError):
        TrustGateway(client, verification="sms")

"""Several nodes: which is asked, when another one is, what is never sent twice; and a node of a process of
its own that is killed under questions.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import httpx
import pytest
from conftest import HASTY_SEC, PATIENT_SEC, rows_of

from trustrank import AsyncTrustRank, TrustGateway, TrustRank, TrustRankError
from trustrank._nodes import NodeSet

NODES = ["http://a", "http://b", "http://c"]
AGENT = "agent://test/connect"
OUTCOME = {
    "subject": "agent://acme/x",
    "reporter": "agent://acme/me",
    "outcome": 1,
    "stakes": 5.0,
    "grade": "counterparty",
}
RECEIPT = {"outcome_id": "o-1", "duplicate": False}


class Clock:
    now = 1.0

    def __call__(self) -> float:
        return self.now


async def never_ready(_: Any) -> bool:
    return False


def nodes_of(addresses: list[str], clock: Clock, probe: Any = never_ready) -> NodeSet:
    return NodeSet([(address, address) for address in addresses], probe, clock)


def first(nodes: NodeSet, agent_id: str | None) -> str:
    return nodes.order(agent_id)[0][0].address


def test_an_agent_keeps_its_node_and_another_goes_alone() -> None:
    clock = Clock()
    one, other = nodes_of(NODES, clock), nodes_of(NODES[::-1], clock)
    agents = [f"agent://acme/a-{at}" for at in range(600)]
    before = {agent: first(one, agent) for agent in agents}
    assert before == {agent: first(other, agent) for agent in agents}
    counts = [list(before.values()).count(node) for node in NODES]
    assert min(counts) > 150
    gone = one.order(None)[0][0]
    one.failed(gone)
    for agent in agents:
        now = first(one, agent)
        assert now != gone.address and before[agent] in (now, gone.address)


def test_a_rest_grows_and_a_probe_ends_it() -> None:
    async def play() -> None:
        clock, ready = Clock(), False

        async def probe(_: Any) -> bool:
            return ready

        nodes = nodes_of(NODES, clock, probe)
        node = nodes.order("agent")[0][0]
        rests = []
        for _ in range(7):
            nodes.failed(node)
            nodes.failed(node)
            rests.append(node.rest_until - clock.now)
            clock.now, ready = node.rest_until, True
            nodes.order("agent")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert node.rest_until == 0
        assert rests == [1, 2, 4, 8, 16, 30, 30]
        nodes.answered(node)
        for _ in range(3):
            assert node.rest_until == 0
            nodes.was_late(node)
        assert node.rest_until - clock.now == 1
        nodes.failed(node, 3600)
        assert node.rest_until - clock.now == 60
        clock.now, ready = node.rest_until, False
        nodes.order("agent")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert node.rest_until - clock.now == 2

    asyncio.run(play())


def scripted(table: dict[str, Any], asked: list[str]) -> httpx.MockTransport:
    """Nodes that are treated as the table says: a status, an exception, or seconds of silence."""

    async def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"http://{request.url.host}")
        treatment = table[asked[-1]]
        if isinstance(treatment, float):
            await asyncio.sleep(treatment)
        elif isinstance(treatment, type):
            raise treatment("fault", request=request)
        elif treatment != 200:
            head = {"content-type": "application/problem+json"}
            return httpx.Response(treatment, headers=head, content=b'{"code":"overloaded"}')
        return httpx.Response(200, json=RECEIPT)

    return httpx.MockTransport(answer)


def report(table: dict[str, Any], outcome: dict[str, Any], **more: Any) -> tuple[Any, list[str]]:
    asked: list[str] = []
    options: dict[str, Any] = {"transport": scripted(table, asked), "slow_timeout": HASTY_SEC, **more}
    with TrustRank(list(table), **options) as client:
        try:
            return client.report_outcome(outcome), asked  # type: ignore[arg-type]
        except TrustRankError as error:
            return error, asked


@pytest.mark.parametrize(
    ("treatment", "has_id", "is_repeated"),
    [
        (httpx.ConnectError, False, True),
        (httpx.ReadError, False, False),
        (503, False, False),
        (5.0, False, False),
        (httpx.ReadError, True, True),
        (503, True, True),
        (5.0, True, True),
        (429, True, False),
        (401, True, False),
    ],
)
def test_a_write_is_repeated_only_where_it_counts_once(
    treatment: Any, has_id: bool, is_repeated: bool
) -> None:
    outcome = {**OUTCOME, "id": "order-1"} if has_id else OUTCOME
    _, (target, *_) = report({"http://a": 200, "http://b": 200}, outcome)
    table = {"http://a": 200, "http://b": 200, target: treatment}
    found, asked = report(table, outcome)
    assert asked[0] == target and len(asked) == (2 if is_repeated else 1)
    assert isinstance(found, TrustRankError) is not is_repeated


def test_what_is_signed_counts_once() -> None:
    _, (target, *_) = report({"http://a": 200, "http://b": 200}, OUTCOME)
    table = {"http://a": 200, "http://b": 200, target: httpx.ReadError}
    found, asked = report(table, OUTCOME, sign=lambda body: "jws")
    assert not isinstance(found, TrustRankError) and len(asked) == 2


def test_when_all_fail_it_is_the_last_ones_fault() -> None:
    table = {node: httpx.ConnectError for node in NODES}
    error, asked = report(table, {**OUTCOME, "id": "order-1"})
    assert isinstance(error, TrustRankError) and error.code == "unreachable" and error.is_transient
    assert "none of 3 nodes answered" in str(error) and sorted(asked) == NODES


def test_time_is_the_callers_whatever_the_nodes_do() -> None:
    table = {node: 30.0 for node in NODES}
    started = time.monotonic()
    error, asked = report(table, {**OUTCOME, "id": "order-1"})
    assert isinstance(error, TrustRankError) and error.code == "timeout"
    assert len(asked) == 3 and HASTY_SEC * 0.9 < time.monotonic() - started < 15


def test_a_hedged_read_takes_the_first_good_answer() -> None:
    async def play(treatment: Any, hedge_after: float | None) -> list[str]:
        asked: list[str] = []
        raw = json.dumps(VERDICT)

        async def answer(request: httpx.Request) -> httpx.Response:
            asked.append(f"http://{request.url.host}")
            if len(asked) == 1:
                await asyncio.sleep(treatment)
            return httpx.Response(200, content=raw, headers={"content-type": "application/json"})

        transport = httpx.MockTransport(answer)
        async with AsyncTrustRank(
            NODES, transport=transport, timeout=PATIENT_SEC, hedge_after=hedge_after
        ) as client:
            verdict = await client.check(AGENT, stakes=5)
            assert verdict.decision == "connect"
        return asked

    slow = asyncio.run(play(5.0, 0.05))
    assert len(set(slow)) == 2
    assert len(asyncio.run(play(0.0, 5.0))) == 1
    assert len(asyncio.run(play(0.2, None))) == 1


VERDICT = {
    "request_id": "request-1",
    "subject": AGENT,
    "stakes": 5,
    "allowed": True,
    "decision": "connect",
    "effective_score": 640.5,
    "tier": "B",
    "reasons": [],
    "reason_codes": [],
    "max_stakes": None,
    "enforced": True,
    "evaluated_at": "2026-01-01T00:00:00.000Z",
    "expires_at": "2026-01-01T00:05:00.000Z",
}


def test_what_is_no_list_of_addresses_is_refused() -> None:
    for wrong in ([], ["http://a", "ftp://a"], [f"http://n{at}" for at in range(33)]):
        with pytest.raises(TrustRankError, match="base_url"):
            TrustRank(wrong)
    with pytest.raises(TrustRankError, match="hedge_after"):
        TrustRank(NODES, hedge_after=0)


@pytest.mark.parametrize("kind", ["silence", "refused", "reset", "half_body", "garbage"])
def test_all_nodes_at_fault_is_the_fail_policy(kind: str, set_fault: Any, key: str) -> None:
    proxy = set_fault(kind=kind)
    both = [proxy, proxy.replace("127.0.0.1", "localhost")]
    with TrustRank(both, key, timeout=HASTY_SEC) as client:
        for level, action, status, mark, *_ in rows_of("fail-policy.txt"):
            answer = TrustGateway(client).authorize(AGENT, action="a.b", tool_level=level)
            assert (answer.word, answer.status, answer.fail_policy) == (action, int(status), mark)


#: A node of the bureau, as a process that hands every request on.
NODE = """
import sys, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self): self.hand_on(None)
    def do_POST(self): self.hand_on(self.rfile.read(int(self.headers["content-length"])))
    def hand_on(self, body):
        head = {name: self.headers[name] for name in ("content-type", "authorization") if self.headers[name]}
        request = urllib.request.Request(sys.argv[1] + self.path, body, head)
        try: answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as error: answer = error
        text = answer.read()
        self.send_response(answer.status)
        self.send_header("content-type", answer.headers["content-type"])
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *_): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture
def processes(service: str) -> Iterator[dict[str, subprocess.Popen[str]]]:
    started = {}
    for _ in range(2):
        program = [sys.executable, "-c", NODE, service]
        process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
        assert process.stdout is not None
        started[f"http://127.0.0.1:{process.stdout.readline().strip()}"] = process
    yield started
    for process in started.values():
        process.kill()
        process.wait()


def test_a_node_is_killed_under_questions(processes: Any, key: str) -> None:
    with TrustRank(list(processes), key, timeout=PATIENT_SEC) as client:
        assert client.warm_up()
        for at in range(30):
            if at == 10:
                victim = next(iter(processes.values()))
                victim.send_signal(signal.SIGKILL)
                victim.wait()
            name = ("connect", "refuse", "escalate")[at % 3]
            assert client.check(f"agent://test/{name}", stakes=5).decision == name
        for process in processes.values():
            process.kill()
            process.wait()
        with pytest.raises(TrustRankError) as caught:
            client.check(AGENT, stakes=5)
        assert caught.value.code == "unreachable"

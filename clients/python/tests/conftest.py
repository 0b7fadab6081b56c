"""The real service of the tests, with a fault proxy in front; both are started by the caller.

`npm test -- test/clients` in the repository does that and runs these.
"""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

from trustrank import TrustRank

#: Long enough for any machine; for calls that must succeed.
PATIENT_SEC = 30.0
#: For calls that must run into their limit.
HASTY_SEC = 0.3

TABLES = Path(__file__).resolve().parents[3] / "test" / "tables"


def url_of(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        pytest.skip(f"{name} is not set: run `npm test -- test/clients` in the repository")
    return value


@pytest.fixture(scope="session")
def service() -> str:
    return url_of("TRUSTRANK_TEST_URL")


@pytest.fixture(scope="session")
def key() -> str:
    return url_of("TRUSTRANK_TEST_KEY")


@pytest.fixture
def client(service: str, key: str) -> Iterator[TrustRank]:
    with TrustRank(service, key, agent_id="agent://acme/me", timeout=PATIENT_SEC) as client:
        yield client


@pytest.fixture
def set_fault() -> Iterator[Callable[..., str]]:
    """Sets a fault of the proxy and gives the proxy's address; none at the end."""
    control, proxy = url_of("TRUSTRANK_TEST_CONTROL"), url_of("TRUSTRANK_TEST_PROXY")

    def put(kind: str, **more: Any) -> str:
        body = json.dumps({"kind": kind, **more}).encode()
        urllib.request.urlopen(urllib.request.Request(control, body), timeout=PATIENT_SEC).read()
        return proxy

    yield put
    put("none")


def rows_of(name: str) -> list[list[str]]:
    """The cells of a table of the repository, without its head."""
    lines = (TABLES / name).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if "level" in line.split()[:2])
    return [line.split() for line in lines[start + 1 :] if line.strip()]

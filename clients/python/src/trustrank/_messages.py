"""Verdicts and receipts, read from replies.

A verdict with an unknown word, a member of the wrong type, another agent's name or a contradiction
in itself is no verdict: it is refused here, before any gate sees it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, Mapping, Sequence, TypedDict

from ._errors import TrustRankError, malformed

Decision = Literal["connect", "connect_with_verification", "escalate", "refuse"]
Verdict = Literal["ALLOW", "CHALLENGE", "QUARANTINE", "BLOCK"]
ToolLevel = Literal["L0", "L1", "L2", "L3"]
Grade = Literal["onchain", "escrow", "mediator", "counterparty", "self"]

TOOL_LEVELS = ("L0", "L1", "L2", "L3")
#: From mild to strict; a connection opens up to the second.
DECISIONS = ("connect", "connect_with_verification", "escalate", "refuse")
_OPEN_MAX = 1
_VERDICTS = ("ALLOW", "CHALLENGE", "QUARANTINE", "BLOCK")
_RISKS = ("LOW", "MEDIUM", "HIGH", "CRITICAL")


class Outcome(TypedDict, total=False):
    """A settled outcome, as the service takes it; the first five members are required."""

    subject: str
    reporter: str
    outcome: Literal[0, 1]
    stakes: float
    grade: str
    #: What makes a repeat the same outcome.
    id: str
    #: Epoch milliseconds.
    settled_at: int
    #: False: the tool or the network failed, not the agent. Stored, not counted.
    agent_fault: bool
    action: str
    #: The verdict that it settles.
    request_id: str
    #: Failures of a subject under one name of the tenant count as those of one hour.
    incident_id: str


@dataclass(frozen=True)
class Leg:
    """One agent's standing at given stakes."""

    subject: str
    decision: Decision
    effective_score: float
    tier: str
    reasons: tuple[str, ...]
    reason_codes: tuple[str, ...]
    #: The largest stakes at which the answer would be no stricter; None for any.
    max_stakes: float | None
    #: The review that holds it back, for `await_review`; None where none does.
    review_id: str | None

    @property
    def is_open(self) -> bool:
        """Whether it lets a connection open, verified or not (SPEC 3)."""
        return DECISIONS.index(self.decision) <= _OPEN_MAX


@dataclass(frozen=True)
class CheckVerdict(Leg):
    """The verdict of a check (SPEC 2.7)."""

    stakes: float
    allowed: bool
    #: False in shadow mode: for the log, not to be applied.
    enforced: bool
    request_id: str
    #: Seconds that the verdict lives.
    lifetime: float
    raw: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def is_let_through(self) -> bool:
        """Whether it holds nothing back: it opens, or is answered in shadow mode."""
        return self.is_open or not self.enforced


@dataclass(frozen=True)
class HandshakeVerdict:
    """Both legs, and the most restrictive of their decisions (SPEC 2.5)."""

    initiator: str
    counterparty: str
    stakes: float
    decision: Decision
    connected: bool
    reasons: tuple[str, ...]
    a_to_b: Leg
    b_to_a: Leg
    enforced: bool
    request_id: str
    raw: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class LevelVerdict:
    """What the same question gets at one tool level, and between which stakes that is the answer."""

    verdict: Verdict
    log_reason: str
    threshold_met: bool
    reason_codes: tuple[str, ...]
    max_stakes: float | None
    enforced: bool
    holds_from: float
    #: None: any.
    holds_to: float | None


@dataclass(frozen=True)
class VerifyVerdict:
    """The policy verdict on one action (SPEC 2.3)."""

    verdict: Verdict
    log_reason: str
    score: float
    risk_level: str
    threshold_met: bool
    reason_codes: tuple[str, ...]
    max_stakes: float | None
    enforced: bool
    request_id: str
    lifetime: float
    raw: Mapping[str, Any] = field(repr=False, compare=False)
    #: By tool level, where asked for; one left out must be asked itself. None: not asked for.
    levels: Mapping[str, LevelVerdict] | None = field(default=None, repr=False)
    #: The review that holds it back, for `await_review`; None where none does.
    review_id: str | None = None

    @property
    def is_let_through(self) -> bool:
        """Only ALLOW passes; a key in shadow mode never blocks."""
        return self.verdict == "ALLOW" or not self.enforced

    def at_level(self, level: LevelVerdict) -> VerifyVerdict:
        """The answer as the service would have given it at another level; `raw` stays as it came."""
        return replace(
            self,
            verdict=level.verdict,
            log_reason=level.log_reason,
            threshold_met=level.threshold_met,
            reason_codes=level.reason_codes,
            max_stakes=level.max_stakes,
            enforced=level.enforced,
            # The requested level's: one that waits for a person is never answered beside another.
            review_id=None,
        )


@dataclass(frozen=True)
class Receipt:
    """What the service says of an outcome it took."""

    outcome_id: str
    duplicate: bool
    raw: Mapping[str, Any] = field(repr=False, compare=False)


def read_check(value: Any, subject: str, stakes: float) -> CheckVerdict:
    """The verdict of a check. Raises TrustRankError `malformed_reply`."""
    members = _object(value, "the verdict")
    leg = _leg(members, subject)
    _same(members, "stakes", stakes)
    if members.get("allowed") is not (DECISIONS.index(leg.decision) <= _OPEN_MAX):
        raise malformed("`allowed` does not follow from `decision`")
    return CheckVerdict(
        **vars(leg),
        stakes=stakes,
        allowed=members["allowed"],
        enforced=_enforced(members),
        request_id=_text(members, "request_id"),
        lifetime=_lifetime(members),
        raw=members,
    )


def read_handshake(value: Any, initiator: str, counterparty: str, stakes: float) -> HandshakeVerdict:
    """The verdict of a handshake. Raises TrustRankError `malformed_reply`."""
    members = _object(value, "the verdict")
    _same(members, "initiator", initiator)
    _same(members, "counterparty", counterparty)
    _same(members, "stakes", stakes)
    a_to_b = _leg(_object(members.get("a_to_b"), "`a_to_b`"), counterparty)
    b_to_a = _leg(_object(members.get("b_to_a"), "`b_to_a`"), initiator)
    decision = _word(members, "decision", DECISIONS)
    index = DECISIONS.index(decision)
    # SPEC 2.5 rule 1, checked again on this side: the most restrictive leg wins.
    if index != max(DECISIONS.index(a_to_b.decision), DECISIONS.index(b_to_a.decision)):
        raise malformed("`decision` is not the most restrictive of the legs")
    if members.get("connected") is not (index <= _OPEN_MAX):
        raise malformed("`connected` does not follow from `decision`")
    _lifetime(members)
    return HandshakeVerdict(
        initiator=initiator,
        counterparty=counterparty,
        stakes=stakes,
        decision=decision,  # type: ignore[arg-type]
        connected=members["connected"],
        reasons=_texts(members, "reasons"),
        a_to_b=a_to_b,
        b_to_a=b_to_a,
        enforced=_enforced(members),
        request_id=_text(members, "request_id"),
        raw=members,
    )


def read_verify(value: Any) -> VerifyVerdict:
    """The verdict on an action. Raises TrustRankError `malformed_reply`."""
    members = _object(value, "the verdict")
    policy = _object(members.get("policy_action"), "`policy_action`")
    trust = _object(members.get("trust_evaluation"), "`trust_evaluation`")
    _text(_object(members.get("provenance_data"), "`provenance_data`"), "reason")
    if not isinstance(members.get("enforced"), bool):
        raise _wrong("enforced", "a boolean")
    if not isinstance(trust.get("threshold_met"), bool):
        raise _wrong("threshold_met", "a boolean")
    max_stakes = members.get("max_stakes")
    return VerifyVerdict(
        verdict=_word(policy, "verdict", _VERDICTS),  # type: ignore[arg-type]
        log_reason=_text(policy, "log_reason"),
        score=_number(trust, "score"),
        risk_level=_word(trust, "risk_level", _RISKS),
        threshold_met=trust["threshold_met"],
        reason_codes=_texts(members, "reason_codes"),
        max_stakes=None if max_stakes is None else _number(members, "max_stakes"),
        enforced=members["enforced"],
        request_id=_text(members, "request_id"),
        lifetime=_lifetime(members),
        raw=members,
        levels=None if members.get("levels") is None else _levels(members["levels"]),
        review_id=_review_id(members),
    )


def _levels(value: Any) -> dict[str, LevelVerdict]:
    levels = _object(value, "`levels`")
    return {name: _level(levels[name]) for name in TOOL_LEVELS if name in levels}


def _level(value: Any) -> LevelVerdict:
    members = _object(value, "a level")
    for flag in ("threshold_met", "enforced"):
        if not isinstance(members.get(flag), bool):
            raise _wrong(flag, "a boolean")
    max_stakes, holds_to = members.get("max_stakes"), members.get("holds_to")
    return LevelVerdict(
        verdict=_word(members, "verdict", _VERDICTS),  # type: ignore[arg-type]
        log_reason=_text(members, "log_reason"),
        threshold_met=members["threshold_met"],
        reason_codes=_texts(members, "reason_codes"),
        max_stakes=None if max_stakes is None else _number(members, "max_stakes"),
        enforced=members["enforced"],
        holds_from=_number(members, "holds_from"),
        holds_to=None if holds_to is None else _number(members, "holds_to"),
    )


def read_items(value: Any, count: int) -> list[Mapping[str, Any]]:
    """The items of a batch's reply, exactly `count`. Raises TrustRankError `malformed_reply`."""
    items = _object(value, "the reply").get("items")
    if not isinstance(items, list) or len(items) != count:
        raise malformed(f"`items` does not hold {count} results")
    return [_object(item, "an item") for item in items]


def read_receipt(value: Any) -> Receipt:
    """The receipt of an outcome. Raises TrustRankError `malformed_reply`."""
    members = _object(value, "the receipt")
    if not isinstance(members.get("duplicate"), bool):
        raise _wrong("duplicate", "a boolean")
    return Receipt(_text(members, "outcome_id"), members["duplicate"], members)


def problem_error(value: Any, status: int, retry_after: float | None = None) -> TrustRankError | None:
    """The error of a problem document; None when it is none."""
    if not isinstance(value, dict) or not isinstance(value.get("code"), str):
        return None
    detail = value.get("detail")
    errors = value.get("errors")
    request_id = value.get("request_id")
    return TrustRankError(
        value["code"],
        detail if isinstance(detail, str) else value["code"],
        status=status,
        retry_after=retry_after,
        request_id=request_id if isinstance(request_id, str) else None,
        errors=errors if isinstance(errors, list) else (),
    )


def _leg(members: Mapping[str, Any], subject: str) -> Leg:
    _same(members, "subject", subject)
    max_stakes = members.get("max_stakes")
    return Leg(
        subject=subject,
        decision=_word(members, "decision", DECISIONS),  # type: ignore[arg-type]
        effective_score=_number(members, "effective_score"),
        tier=_text(members, "tier"),
        reasons=_texts(members, "reasons"),
        reason_codes=_texts(members, "reason_codes"),
        max_stakes=None if max_stakes is None else _number(members, "max_stakes"),
        review_id=_review_id(members),
    )


def _review_id(members: Mapping[str, Any]) -> str | None:
    review = members.get("review")
    return None if review is None else _text(_object(review, "`review`"), "id")


def _enforced(members: Mapping[str, Any]) -> bool:
    """Services of older versions name no shadow mode: they enforce."""
    enforced = members.get("enforced", True)
    if not isinstance(enforced, bool):
        raise _wrong("enforced", "a boolean")
    return enforced


def _lifetime(members: Mapping[str, Any]) -> float:
    try:
        evaluated = _time(_text(members, "evaluated_at"))
        expires = _time(_text(members, "expires_at"))
    except ValueError:
        raise malformed("the verdict's times are no times") from None
    if expires < evaluated:
        raise malformed("the verdict expires before it was made")
    return (expires - evaluated).total_seconds()


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _object(value: Any, name: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise malformed(f"{name} is not an object")


def _same(members: Mapping[str, Any], name: str, expected: object) -> None:
    found = members.get(name)
    if isinstance(found, bool) or found != expected:
        raise malformed(f"`{name}` is not what was asked about")


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    if isinstance(value, str):
        return value
    raise _wrong(name, "a string")


def _texts(members: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = members.get(name)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise _wrong(name, "a list of strings")


def _number(members: Mapping[str, Any], name: str) -> float:
    value = members.get(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return value
    raise _wrong(name, "a number")


def _word(members: Mapping[str, Any], name: str, words: Sequence[str]) -> str:
    value = members.get(name)
    if isinstance(value, str) and value in words:
        return value
    raise malformed(f"`{name}` is no word of the contract")


def _wrong(name: str, kind: str) -> TrustRankError:
    return malformed(f"`{name}` is not {kind}")

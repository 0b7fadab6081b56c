"""Client of TrustRank: may this agent do this, given what is at stake?"""

from ._changes import Change
from ._client import AsyncTrustRank, TrustRank, verify_request
from ._errors import TrustGateError, TrustRankError
from ._gateway import AsyncTrustGateway, FailPolicy, GatewayAnswer, TrustGateway, fail_policy
from ._guard import guard
from ._messages import (
    CheckVerdict,
    HandshakeVerdict,
    Leg,
    LevelVerdict,
    Outcome,
    Receipt,
    VerifyVerdict,
)
from ._review import Review
from .rails import AgentFaultError, HandshakeGate, ToolDecision, ToolEnd, gated
from .reporting import OutcomeQueue, OutcomeReport

__all__ = [
    "AgentFaultError",
    "AsyncTrustGateway",
    "AsyncTrustRank",
    "Change",
    "CheckVerdict",
    "FailPolicy",
    "GatewayAnswer",
    "HandshakeGate",
    "HandshakeVerdict",
    "Leg",
    "LevelVerdict",
    "Outcome",
    "OutcomeQueue",
    "OutcomeReport",
    "Receipt",
    "Review",
    "ToolDecision",
    "ToolEnd",
    "TrustGateError",
    "TrustGateway",
    "TrustRank",
    "TrustRankError",
    "VerifyVerdict",
    "fail_policy",
    "gated",
    "guard",
    "verify_request",
]

"""Errors: a verdict against the call (TrustGateError) and no verdict at all (TrustRankError).

Never one class for both: only the second is an outage.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

#: Faults before the service has answered. All other codes are the service's own.
TRANSPORT_CODES = frozenset(
    {"timeout", "unreachable", "malformed_reply", "unexpected_status", "invalid_argument"}
)


class TrustRankError(Exception):
    """There is no verdict: the network, the service, or the request itself was at fault."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(detail)
        self.code = code
        #: HTTP status of the reply; None when none came.
        self.status = status
        #: Pause that the service asks for, seconds.
        self.retry_after = retry_after
        self.request_id = request_id
        #: The offending members, when the service named them: `pointer`, `code`, `detail`.
        self.errors = tuple(errors)

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later.

        Reads of scores are better not repeated (SPEC 8.1); outcomes with an `id` may be.
        """
        if self.code == "malformed_reply":
            return True
        if self.status is not None:
            return self.status == 429 or self.status >= 500
        return self.code in ("timeout", "unreachable")


class TrustGateError(Exception):
    """The call must not run: by the verdict, or because a callback of yours raised (SPEC 4.7)."""

    #: For a route that answers with it (SPEC 4.8).
    status = 403

    def __init__(self, detail: str, verdict: Any = None) -> None:
        super().__init__(detail)
        #: None when a callback raised: no question was sent then and nothing was paid.
        self.verdict = verdict
        self.decision: str = "refuse" if verdict is None else verdict.decision
        self.reasons: tuple[str, ...] = (detail,) if verdict is None else tuple(verdict.reasons)


def refusal(agent_id: str, verdict: Any) -> TrustGateError:
    """The error for a verdict that blocks a call."""
    because = ": " + "; ".join(verdict.reasons) if verdict.reasons else ""
    return TrustGateError(f"{verdict.decision} for `{agent_id}`{because}", verdict)


def malformed(detail: str) -> TrustRankError:
    """The error for a reply whose document is not that of the route."""
    return TrustRankError("malformed_reply", detail)

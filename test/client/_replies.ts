// Scripted replies and faults of a service: functions with the shape of `fetch`, for faults and
// times that no real server can be made to show on demand.
import type { CheckResponse, VerifyResponse } from "../../src/contract/schemas/scores.ts";
import type { Decision, Verdict } from "../../src/contract/vocabulary.ts";
import type { FetchLike } from "../../src/client/runtime.ts";

const EVALUATED = "2026-01-01T00:00:00.000Z";
const EXPIRES = "2026-01-01T00:05:00.000Z";

export function checkReply(
  subject: string,
  stakes: number,
  decision: Decision = "connect",
  more: Partial<CheckResponse> = {},
): CheckResponse {
  const isClear = decision === "connect";
  return {
    request_id: "request-1",
    subject,
    stakes,
    allowed: isClear || decision === "connect_with_verification",
    decision,
    effective_score: 640.5,
    tier: "B",
    reasons: isClear ? [] : ["few outcomes are known"],
    reason_codes: isClear ? [] : ["THIN_FILE"],
    max_stakes: null,
    tool_level_max: "L2",
    enforced: true,
    config_version: "c-1",
    evaluated_at: EVALUATED,
    expires_at: EXPIRES,
    ...more,
  };
}

export function verifyReply(verdict: Verdict = "ALLOW", more: Partial<VerifyResponse> = {}) {
  const reply: VerifyResponse = {
    request_id: "request-1",
    trust_evaluation: {
      score: 62,
      threshold_met: true,
      risk_level: "LOW",
      internal_score: 640,
      tier: "B",
      confidence: 0.9,
    },
    provenance_data: { is_hallucinated: false, source_verified: true, reason: "no sources" },
    policy_action: {
      verdict,
      log_reason: verdict === "ALLOW" ? "TRUST_SUFFICIENT" : "REFUSE_RULE",
    },
    reason_codes: [],
    max_stakes: null,
    enforced: true,
    config_version: "c-1",
    policy_version: "p-1",
    evaluated_at: EVALUATED,
    expires_at: EXPIRES,
    ...more,
  };
  return reply;
}

const VERDICT_BY_DECISION: Readonly<Record<Decision, Verdict>> = {
  connect: "ALLOW",
  connect_with_verification: "CHALLENGE",
  escalate: "QUARANTINE",
  refuse: "BLOCK",
};

/** The verify reply that amounts to a decision. */
export const actionReply = (decision: Decision, more: Partial<VerifyResponse> = {}) =>
  verifyReply(VERDICT_BY_DECISION[decision], more);

/** Answers verify and check by `decide`; counts what it was asked. */
export function service(
  decide: (body: { subject?: string; agent_id?: string; stakes: number }) => unknown,
): FetchLike & { calls: number } {
  const answer = Object.assign(
    async (_url: string, init: RequestInit) => {
      answer.calls += 1;
      return Response.json(decide(JSON.parse(init.body as string)));
    },
    { calls: 0 },
  );
  return answer;
}

/** `fetch` that answers `value` after `ms`, and like the real one rejects when it is aborted. */
export function answersAfter(ms: number, value: () => unknown): FetchLike & { calls: number } {
  const answer = Object.assign(
    (_url: string, init: RequestInit) => {
      answer.calls += 1;
      return new Promise<Response>((resolve, reject) => {
        init.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
        setTimeout(() => resolve(Response.json(value())), ms);
      });
    },
    { calls: 0 },
  );
  return answer;
}

/** What a rejected promise was rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (thrown) {
    return thrown;
  }
  throw new Error("expected a rejection");
}

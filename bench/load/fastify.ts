// Fastify as the service is compared with it: the least that a service on it does, and one that takes and gives what
// a verify does, but decides nothing.
import { randomUUID } from "node:crypto";
import Fastify, { type FastifyReply, type FastifyRequest } from "fastify";
import { VerifyResponse } from "../../src/contract/schemas/scores.ts";
import { ADMIN_KEY } from "../server-process.ts";

const text = { type: "string", maxLength: 512 };
const BODY = {
  type: "object",
  required: ["agent_id", "action", "tool_level"],
  properties: {
    agent_id: text,
    action: text,
    tool_level: { enum: ["L0", "L1", "L2", "L3"] },
    context: {
      type: "object",
      properties: {
        content_hash: { ...text, pattern: "^sha256:[0-9a-f]{64}$" },
        cited_sources: { type: "array", maxItems: 64, items: text },
        session_duration_sec: { type: "number", minimum: 0 },
      },
    },
  },
};
const SHORT = {
  type: "object",
  properties: {
    request_id: { type: "string" },
    trust_evaluation: {
      type: "object",
      properties: { score: { type: "number" }, threshold_met: { type: "boolean" } },
    },
  },
};

/** Listens on a free port of loopback. `isWhole`: as a verify answers, else as short as can be. */
export async function startFastify(isWhole: boolean): Promise<number> {
  const app = Fastify();
  const path = "/v1/trust/verify";
  if (isWhole) {
    const schema = { body: BODY, response: { 200: VerifyResponse } };
    app.post(path, { schema, onRequest: authorize }, answer);
  } else {
    const verdict = { request_id: "r", trust_evaluation: { score: 71, threshold_met: true } };
    app.post(path, { schema: { body: BODY, response: { 200: SHORT } } }, () => verdict);
  }
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
}

/** The cheapest check of a key that there is. */
const KEYS = new Map([[`Bearer ${ADMIN_KEY}`, { tenant: "acme" }]]);

function authorize(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  if (KEYS.has(request.headers.authorization ?? "")) done();
  else void reply.code(401).send();
}

/** The document of a verify that lets through, made anew; nothing is looked up for it. */
function answer(request: FastifyRequest, reply: FastifyReply) {
  const { tool_level: level } = request.body as { tool_level: string };
  const nowMs = Date.now();
  const requestId = randomUUID();
  void reply.header("cache-control", "private, max-age=300").header("x-request-id", requestId);
  return {
    request_id: requestId,
    config_version: "w-5d41402abc4b2a76",
    evaluated_at: new Date(nowMs).toISOString(),
    expires_at: new Date(nowMs + 300_000).toISOString(),
    trust_evaluation: {
      score: 86,
      threshold_met: true,
      risk_level: "LOW",
      internal_score: 771.4,
      tier: "A",
      regime: "stable",
      confidence: 0.93,
    },
    provenance_data: { is_hallucinated: false, source_verified: false, reason: "NOT_CITED" },
    policy_action: { verdict: "ALLOW", log_reason: "THRESHOLD_MET" },
    reason_codes: ["STRONG_RECORD", "RECENT_SUCCESS"],
    max_stakes: level === "L0" ? null : 1500,
    enforced: true,
    policy_version: "p-7d793037a0760186",
  };
}

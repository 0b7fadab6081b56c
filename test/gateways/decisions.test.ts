// One golden table of decisions through every door of the service: REST, AuthZEN (single and
// batch), each gateway profile, the client and TrustGateway. They may differ in words, never in
// what happens.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TrustRankClient } from "../../src/client/client.ts";
import { TrustGateway } from "../../src/client/gateway/gateway.ts";
import type { VerifyResponse } from "../../src/contract/schemas/scores.ts";
import { TOOL_LEVELS, type ToolLevel } from "../../src/contract/vocabulary.ts";
import { type Service, startTestService } from "../client/_service.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

interface Decided {
  verdict: string;
  label: string;
  effect: string;
}
type Door = (agentId: string, toolLevel: ToolLevel, stakes: number) => Promise<Decided>;

const ACTION = "payments.transfer";

let service: Service;
let client: TrustRankClient;
beforeAll(async () => {
  service = await startTestService();
  client = new TrustRankClient({ ...service, timeoutMs: WAIT_MS_MAX });
});
afterAll(() => service.stop());

async function post(path: string, body: unknown): Promise<never> {
  const response = await fetch(service.baseUrl + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${service.apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as never;
}

const ofVerdict = ({ policy_action: policy, enforced }: VerifyResponse): Decided => ({
  verdict: policy.verdict,
  label: policy.log_reason,
  effect: policy.verdict === "ALLOW" || !enforced ? "allow" : "deny",
});

/** Labels of what is allowed and not flagged for review. */
const UNFLAGGED = /^(TRUST_SUFFICIENT|RISK_TOLERATED|THIN_FILE_TOLERATED)$/;

interface Evaluated {
  decision: boolean;
  context: { verdict: string; log_reason: string; flagged: boolean };
}
const ofEvaluation = ({ decision, context }: Evaluated): Decided => {
  expect(context.flagged).toBe(decision && !UNFLAGGED.test(context.log_reason));
  return {
    verdict: context.verdict,
    label: context.log_reason,
    effect: decision ? "allow" : "deny",
  };
};

const evaluation = (agentId: string, toolLevel: ToolLevel, stakes: number) => ({
  subject: { type: "agent", id: agentId },
  action: { name: "transfer", properties: { tool_level: toolLevel } },
  resource: { type: "payments", id: "account-1", properties: { stakes } },
});

/** By query, by headers, and as Envoy asks. */
const gateway =
  (profile: string, by: "query" | "headers" | "envoy"): Door =>
  async (agentId, toolLevel, stakes) => {
    const query = new URLSearchParams({
      profile,
      agent_id: agentId,
      tool_level: toolLevel,
      stakes: String(stakes),
    });
    const told = {
      "X-Trust-Agent-Id": agentId,
      "X-Trust-Tool-Level": toolLevel,
      "X-Trust-Stakes": String(stakes),
      "X-Trust-Action": ACTION,
    };
    const path = {
      query: `/v1/gateway/authorize?${query.toString()}`,
      headers: `/v1/gateway/authorize?profile=${profile}`,
      envoy: "/v1/gateway/envoy/at/files/a?tool_level=L0&agent_id=agent://test/connect",
    }[by];
    const response = await fetch(service.baseUrl + path, {
      method: by === "envoy" ? "PUT" : "GET",
      headers: {
        Authorization: `Bearer ${service.apiKey}`,
        ...(by === "query" ? {} : told),
        ...(by === "envoy" ? { "Content-Length": "0" } : {}),
      },
    });
    const effect = response.headers.get("x-trust-effective")!;
    expect(response.status).toBe(effect === "allow" ? 200 : 403);
    const reason = response.headers.get("x-trust-reason")!;
    const isFlagged = effect === "allow" && !UNFLAGGED.test(reason);
    expect(response.headers.get("x-trust-flagged")).toBe(isFlagged ? "true" : null);
    expect((await response.text()) === "").toBe(
      effect === "allow" || ["nginx", "haproxy"].includes(profile),
    );
    return {
      verdict: response.headers.get("x-trust-verdict")!,
      label: response.headers.get("x-trust-reason")!,
      effect,
    };
  };

const DOORS: Record<string, Door> = {
  REST: async (agent_id, tool_level, stakes) =>
    ofVerdict(await post("/v1/trust/verify", { agent_id, action: ACTION, tool_level, stakes })),
  AuthZEN: async (...question) =>
    ofEvaluation(await post("/access/v1/evaluation", evaluation(...question))),
  "AuthZEN batch": async (...question) => {
    const { subject, ...rest } = evaluation(...question);
    const answer: { evaluations: Evaluated[] } = await post("/access/v1/evaluations", {
      subject,
      evaluations: [rest, rest],
    });
    expect(answer.evaluations).toHaveLength(2);
    return ofEvaluation(answer.evaluations[1]!);
  },
  "nginx by headers": gateway("nginx", "headers"),
  "Caddy by headers": gateway("caddy", "headers"),
  "HAProxy by headers": gateway("haproxy", "headers"),
  "Traefik by query": gateway("traefik", "query"),
  "Kong by headers": gateway("kong", "headers"),
  "APISIX by headers": gateway("apisix", "headers"),
  "Envoy by headers": gateway("envoy", "headers"),
  "Envoy by path": gateway("envoy", "envoy"),
  client: async (agent_id, tool_level, stakes) =>
    ofVerdict(await client.verify({ agent_id, action: ACTION, tool_level, stakes })),
  "client batch": async (agent_id, tool_level, stakes) => {
    const [item] = await client.verifyBatch([{ agent_id, action: ACTION, tool_level, stakes }]);
    return ofVerdict(item!.verdict!);
  },
  TrustGateway: async (agentId, toolLevel, stakes) => {
    const trust = new TrustGateway({ client });
    const request = { agentId, action: ACTION, toolLevel, stakes };
    const fresh = await trust.authorize(request);
    const cached = await trust.authorize(request);
    expect([fresh.isCached, cached.isCached]).toEqual([false, true]);
    expect(cached.allowed).toBe(fresh.allowed);
    const { word, reason, allowed, status } = cached;
    expect(status).toBe(allowed ? 200 : 403);
    return { verdict: word, label: reason, effect: allowed ? "allow" : "deny" };
  },
};

const golden = readFileSync(new URL("../tables/gateway-decisions.txt", import.meta.url), "utf8")
  .split("\n")
  .map((line) => line.trim().split(/\s+/))
  .filter((cells) => /^L[0-3]$/.test(cells[1] ?? ""));

describe.each(Object.keys(DOORS))("%s", (door) => {
  it("decides as the golden table says", async () => {
    expect(golden).toHaveLength(20);
    for (const [agent, level, verdict, label, effect] of golden) {
      const decided = await DOORS[door]!(`agent://test/${agent}`, level as ToolLevel, 10);
      expect([agent, level, decided]).toEqual([agent, level, { verdict, label, effect }]);
    }
  });
});

it("all doors agree on agents with a history and without one", async () => {
  const agents = ["agent://acme/support-triage", "agent://nobody/knows"];
  // A thin record is flagged the first time of the day, by whichever door it is asked.
  await DOORS["REST"]!("agent://nobody/knows", "L1", 0);
  for (const agent of agents) {
    for (const level of TOOL_LEVELS) {
      for (const stakes of [0, 500]) {
        const expected = await DOORS["REST"]!(agent, level, stakes);
        for (const [name, door] of Object.entries(DOORS)) {
          expect([name, await door(agent, level, stakes)]).toEqual([name, expected]);
        }
      }
    }
  }
});

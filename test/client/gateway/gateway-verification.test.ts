// Additional verification of the weaker leg by a gateway (SPEC §3) over a real service: who is asked, what
// an answer becomes, and that nothing of it is kept for another call.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import {
  type GatewayRequest,
  TrustGateway,
  type TrustGatewayOptions,
} from "../../../src/client/gateway/gateway.ts";
import { protectRoute, type ProtectOptions } from "../../../src/client/gateway/protect.ts";
import { answerHeaders, type GatewayLog } from "../../../src/client/ruling.ts";
import type { VerificationCallback, WeakerLeg } from "../../../src/client/verification.ts";
import { TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { type Service, startTestService } from "../_service.ts";

const SELF = "agent://test/connect";
const DUE = "agent://test/verify";

let service: Service;
let warnings: unknown[][];
let paths: string[];
let logs: GatewayLog[];
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());
beforeEach(() => {
  [paths, logs] = [[], []];
  warnings = vi.spyOn(console, "warn").mockReturnValue().mock.calls;
});
afterEach(() => vi.restoreAllMocks());

function open(more: Partial<TrustGatewayOptions> = {}, apiKey = service.apiKey) {
  const { baseUrl } = service;
  const fetchCounted = (url: string, init: RequestInit) => {
    paths.push(new URL(url).pathname);
    return fetch(url, init);
  };
  const options = { baseUrl, apiKey, agentId: SELF, timeoutMs: WAIT_MS_MAX, fetch: fetchCounted };
  const onLog = (entry: GatewayLog) => void logs.push(entry);
  return new TrustGateway({ client: new TrustRankClient(options), onLog, follow: false, ...more });
}

/** A callback that gives `results` in turn, with what it was asked. */
function verifier(...results: unknown[]) {
  const asked: { leg: WeakerLeg; call: unknown }[] = [];
  const verification: VerificationCallback<unknown> = (_verdict, leg, call) => {
    asked.push({ leg, call });
    return results[asked.length - 1] as boolean;
  };
  return { asked, verification };
}
const action = { agentId: DUE, action: "payments.transfer", toolLevel: "L2" } as const;

describe("without a callback", () => {
  it("opens a connection with a mark, and warns once", async () => {
    const gateway = open();
    for (let times = 0; times < 3; times += 1) {
      const answer = await gateway.admit({ agentId: DUE });
      expect(answer).toMatchObject({ allowed: true, status: 200, verification: "due" });
      expect(answerHeaders(answer)["X-Trust-Verification"]).toBe("due");
    }
    expect(warnings).toEqual([[expect.stringContaining(`verification of "${DUE}" was due`)]]);
    expect(await gateway.admit({ agentId: SELF })).toMatchObject({ verification: undefined });
  });

  it("withholds a challenge, and says what was due", async () => {
    const answer = await open().authorize(action);
    expect(answer).toMatchObject({ allowed: false, status: 403, word: "CHALLENGE" });
    expect([answer.reason, answer.verification]).toEqual(["STAKES_NEED_VERIFICATION", "due"]);
  });
});

describe("with a callback", () => {
  it("decides on each call anew, though the verdict is kept", async () => {
    const { asked, verification } = verifier(true, false, "yes", true);
    const gateway = open({ verification });
    const answers = [];
    for (let times = 0; times < 4; times += 1) answers.push(await gateway.admit({ agentId: DUE }));
    expect(paths).toEqual(["/v1/handshake"]);
    expect(asked.map(({ leg }) => leg.subject)).toEqual([DUE, DUE, DUE, DUE]);
    const seen = answers.map((each) => [each.status, each.verification]);
    const [passed, failed] = [
      [200, "passed"],
      [403, "failed"],
    ];
    expect(seen).toEqual([passed, failed, failed, passed]);
    expect(answers[1]).toMatchObject({ allowed: false, reason: "VERIFICATION_FAILED" });
    expect(answerHeaders(answers[1]!)).toMatchObject({
      "X-Trust-Effective": "deny",
      "X-Trust-Verdict": "connect_with_verification",
      "X-Trust-Reason": "VERIFICATION_FAILED",
      "X-Trust-Verification": "failed",
    });
    expect(logs.map(({ kind }) => kind)).toEqual(seen.map(([, state]) => `verification_${state}`));
    expect(warnings).toEqual([]);
  });

  it("lets a challenge through where it is passed, for that call alone", async () => {
    const { asked, verification } = verifier(true, false);
    const gateway = open({ verification });
    expect(await gateway.authorize(action)).toMatchObject({
      allowed: true,
      status: 200,
      word: "CHALLENGE",
      verification: "passed",
    });
    expect(await gateway.authorize(action)).toMatchObject({ allowed: false, isCached: true });
    expect(asked[0]).toMatchObject({ leg: { subject: DUE }, call: action });
    // Nobody verifies here: the verdict that is kept is still a challenge.
    const bare: GatewayRequest = { ...action, verification: () => false };
    expect(await gateway.authorize(bare)).toMatchObject({ allowed: false, isCached: true });
    expect(paths).toEqual(["/v1/trust/verify"]);
  });

  it("is never asked to clear what denies or waits for a person, nor in shadow mode", async () => {
    const { asked, verification } = verifier();
    for (const name of ["escalate", "refuse"]) {
      const gateway = open({ verification });
      const agentId = `agent://test/${name}`;
      expect(await gateway.admit({ agentId })).toMatchObject({ status: 403 });
      expect(await gateway.authorize({ ...action, agentId })).toMatchObject({ status: 403 });
    }
    const shadow = open({ verification }, service.shadowKey);
    expect(await shadow.admit({ agentId: DUE })).toMatchObject({ status: 200 });
    expect(await shadow.authorize(action)).toMatchObject({ status: 200, verification: undefined });
    expect(asked).toEqual([]);
  });

  it("is asked at L2 and L3: below, the table of tool levels lets the connection through", async () => {
    const { asked, verification } = verifier(true, true);
    const gateway = open({ verification });
    const states: unknown[] = [];
    for (const toolLevel of TOOL_LEVELS)
      states.push((await gateway.admit({ agentId: DUE, toolLevel })).verification);
    expect(states).toEqual(["due", "due", "passed", "passed"]);
    expect(asked).toHaveLength(2);
  });

  it("verifies the weaker leg, which may be the gateway's own", async () => {
    const { asked, verification } = verifier(true);
    const gateway = open({ verification, handshake: { agentId: DUE } });
    expect(await gateway.admit({ agentId: SELF })).toMatchObject({ verification: "passed" });
    expect(asked[0]!.leg.subject).toBe(DUE);
  });

  it("denies whoever gives up while it is asked", async () => {
    const leaving = new AbortController();
    const verification = () => {
      queueMicrotask(() => leaving.abort());
      return new Promise<boolean>(() => undefined);
    };
    const answer = await open({ verification }).admit({ agentId: DUE, signal: leaving.signal });
    expect(answer).toMatchObject({ allowed: false, status: 403, verification: "failed" });
  });

  it("must be a function", () => {
    const verification = "sms" as unknown as VerificationCallback<unknown>;
    expect(() => open({ verification })).toThrow(TypeError);
    const route = { gateway: open(), toolLevel: "L2", action: "a.b", agentId: () => DUE } as const;
    expect(() => protectRoute(() => new Response(), { ...route, verification })).toThrow(TypeError);
  });
});

describe("a protected route", () => {
  const request = () => new Request("http://app/pay", { headers: { "x-code": "123456" } });
  const route = (more: Partial<ProtectOptions>) =>
    protectRoute(() => new Response("ran"), {
      gateway: open(),
      toolLevel: "L2",
      action: "payments.transfer",
      agentId: () => DUE,
      ...more,
    });

  it("verifies by the request, once for connection and action, and marks the response", async () => {
    const codes: unknown[] = [];
    const gated = route({
      verification: (_verdict, _leg, from) => {
        codes.push(from.headers.get("x-code"));
        return true;
      },
    });
    const response = await gated(request());
    expect([response.status, await response.text()]).toEqual([200, "ran"]);
    expect(response.headers.get("x-trust-verification")).toBe("passed");
    expect([codes, paths]).toEqual([["123456"], ["/v1/handshake", "/v1/trust/verify"]]);
    await gated(request());
    expect(codes, "each request is verified").toHaveLength(2);
  });

  it("gives 403 with the reason where it fails, before the action is asked about", async () => {
    const response = await route({ verification: () => false })(request());
    expect([response.status, response.headers.get("x-trust-verification")]).toEqual([
      403,
      "failed",
    ]);
    const body = { error: "connect_with_verification", reason: "VERIFICATION_FAILED" };
    expect(await response.json()).toEqual(body);
    expect(paths).toEqual(["/v1/handshake"]);
  });

  it("marks at L1 what was due, without asking", async () => {
    const { asked, verification } = verifier();
    const response = await route({ toolLevel: "L1", verification })(request());
    expect([response.status, response.headers.get("x-trust-verification")]).toEqual([200, "due"]);
    expect(asked).toEqual([]);
  });
});

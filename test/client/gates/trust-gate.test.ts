// The inbound gate over the real service: nobody comes in whom verify would hold back at the gate's level, and
// every fault closes it.
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateError } from "../../../src/client/errors.ts";
import { TrustGateway } from "../../../src/client/gateway/gateway.ts";
import { trustGate, TrustGateUnavailableError } from "../../../src/client/gates/trust-gate.ts";
import { readTrustMark } from "../../../src/client/gates/trust-mark.ts";
import { TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { rejection, verifyReply } from "../_replies.ts";
import { type Service, startTestService } from "../_service.ts";

const agent = (name: string) => `agent://test/${name}`;
const boom = (): never => {
  throw new Error("boom");
};

let service: Service;
let client: TrustRankClient;
let questions: unknown[];
let warnings: unknown[];
const down = new TrustRankClient({ baseUrl: "http://127.0.0.1:1", timeoutMs: WAIT_MS_MAX });

beforeAll(async () => {
  service = await startTestService();
  client = new TrustRankClient({
    ...service,
    timeoutMs: WAIT_MS_MAX,
    agentId: agent("connect"),
    fetch: (url, init) => {
      questions.push(JSON.parse(init.body as string));
      return fetch(url, init);
    },
  });
});
afterAll(() => service.stop());
beforeEach(() => {
  questions = [];
  warnings = [];
  vi.spyOn(console, "warn").mockImplementation((text) => void warnings.push(text));
});

describe("trustGate", () => {
  const CHALLENGES = Symbol.for("eve.channels.auth.challenges");
  const inner = Object.assign(
    (request: Request) => {
      const name = request.headers.get("x-token");
      return name === null ? null : { principalId: agent(name), principalType: "service" };
    },
    { schemes: ["basic"] },
  );
  Object.defineProperty(inner, CHALLENGES, { value: [{ scheme: "Basic" }], enumerable: false });
  const request = (token?: string) =>
    new Request("http://app/", token === undefined ? {} : { headers: { "x-token": token } });

  it("lets in whom verify allows at L2, as the inner authenticator saw them", async () => {
    const gate = trustGate(inner, { client });
    expect(await gate(request("connect"))).toMatchObject({ principalType: "service" });
    expect(questions).toEqual([
      { agent_id: agent("connect"), action: "route.call", tool_level: "L2" },
    ]);
  });

  it("keeps a fault's cause for its own log, and out of the response", async () => {
    const agentId = (): never => {
      throw new RangeError("no agent in row 5 of vault");
    };
    const thrown = await rejection(trustGate(inner, { client, agentId })(request("connect")));
    expect(thrown).toMatchObject({
      message: "callback `agentId` failed: no agent in row 5 of vault",
    });
    expect(await (thrown as TrustGateError).response.json()).toMatchObject({
      reasons: ["callback `agentId` failed"],
    });
    const wrong = trustGate(inner, { client, agentId: () => "agent://no" })(request("connect"));
    const unavailable = (await rejection(wrong)) as TrustGateUnavailableError;
    expect(unavailable.message).toMatch(/\(invalid_request: \/agent_id: must be /);
    expect(await unavailable.response.json()).toEqual({
      error: "no trust verdict (invalid_request)",
      code: "invalid_request",
    });
  });

  it("asks at the level, the stakes and the action that it is given", async () => {
    const gate = trustGate(inner, {
      client,
      level: "L3",
      stakes: ({ principalId }) => principalId.length,
      action: ({ principalType }, { method }) => `${principalType}.${method}`,
    });
    await gate(request("connect"));
    const stakes = agent("connect").length;
    expect(questions).toEqual([
      { agent_id: agent("connect"), action: "service.GET", tool_level: "L3", stakes },
    ]);
  });

  it("admits at each level whom verify allows there", async () => {
    for (const level of TOOL_LEVELS) {
      for (const name of ["connect", "verify", "escalate", "refuse", "hallucinated"]) {
        const { policy_action } = await client.verify({
          agent_id: agent(name),
          action: "route.call",
          tool_level: level,
        });
        const admitted = await trustGate(inner, { client, level })(request(name)).catch(() => null);
        expect(admitted !== null, `${name} at ${level}`).toBe(policy_action.verdict === "ALLOW");
      }
    }
  });

  it("holds nobody back in shadow mode", async () => {
    const { baseUrl, shadowKey: apiKey } = service;
    const shadow = new TrustRankClient({ baseUrl, apiKey, timeoutMs: WAIT_MS_MAX });
    const identity = await trustGate(inner, { client: shadow, level: "L3" })(request("refuse"));
    expect(readTrustMark(identity!)).toMatchObject({ isVerificationDue: false });
  });

  it("marks what the policy allows while verification is due, and warns once a process", async () => {
    const allowed = { verdict: "ALLOW", log_reason: "STAKES_NEED_VERIFICATION" } as const;
    const marking = {
      verify: async () => verifyReply("ALLOW", { policy_action: allowed }),
    } as unknown as TrustRankClient;
    for (const level of TOOL_LEVELS) {
      const event = request("connect");
      const identity = await trustGate(inner, { client: marking, level })(event);
      for (const holder of [identity!, event]) {
        expect(readTrustMark(holder)).toMatchObject({
          isVerificationDue: true,
          weakerLeg: { subject: agent("connect"), tier: "B" },
          headers: { "X-Trust-Verification": "due" },
        });
      }
    }
    expect(warnings).toEqual([expect.stringContaining("pass `verification`")]);
    const refusing = trustGate(inner, { client: marking, verification: () => false });
    expect(await rejection(refusing(request("connect")))).toBeInstanceOf(TrustGateError);
  });

  it("leaves identities it does not know to the next authenticator", async () => {
    expect(await trustGate(inner, { client: down })(request())).toBeNull();
    expect(await trustGate(async () => undefined, { client: down })(request())).toBeUndefined();
  });

  it.each([
    ["refuse", "refuse", "REFUSE_RULE"],
    ["escalate", "escalate", "RISK_ABOVE_BORDER"],
    ["verify", "connect_with_verification", "STAKES_NEED_VERIFICATION"],
  ])("answers 403 with the scored reason on %s", async (name, decision, reason) => {
    const thrown = await rejection(trustGate(inner, { client })(request(name)));
    const { response } = thrown as TrustGateError;
    expect(response.status).toBe(403);
    const body = (await response.json()) as { reasons: string[] };
    expect(body).toMatchObject({ decision, request_id: expect.stringMatching(/-/) });
    expect(body.reasons[0]).toBe(reason);
    // Looked at twice by some frameworks: a body must not have been used up.
    expect(await (thrown as TrustGateError).response.json()).toEqual(body);
  });

  it("fails closed: 503 when there is no verdict, 403 when a callback throws", async () => {
    const noVerdict = await rejection(trustGate(inner, { client: down })(request("connect")));
    expect(noVerdict).toBeInstanceOf(TrustGateUnavailableError);
    const { response } = noVerdict as TrustGateUnavailableError;
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    const faulty = [
      { agentId: boom },
      { stakes: boom },
      { stakes: () => Number.NaN },
      { stakes: (() => undefined) as never },
      { action: boom },
      { onAdmitted: boom },
      { onAdmitted: async () => boom() },
    ];
    for (const options of faulty) {
      const thrown = await rejection(trustGate(inner, { client, ...options })(request("connect")));
      expect((thrown as TrustGateError).response.status).toBe(403);
    }
    const noClient = await rejection(trustGate(inner)(request("connect")));
    expect((noClient as TrustGateUnavailableError).response.status).toBe(503);
  });

  it("passes the inner authenticator's own rejection on", async () => {
    const strict = () => Promise.reject(new Error("401"));
    await expect(trustGate(strict, { client })(request("connect"))).rejects.toThrow("401");
  });

  it("keeps what hangs on the function: challenges under symbols, plain members", () => {
    const gate = trustGate(inner, { client });
    expect(Object.getOwnPropertyDescriptor(gate, CHALLENGES)).toEqual(
      Object.getOwnPropertyDescriptor(inner, CHALLENGES),
    );
    expect(Reflect.get(gate, "schemes")).toEqual(["basic"]);
  });

  it("closes on a garbled verdict and on a client or gateway that throws anything", async () => {
    const lying = (verify: () => unknown) => ({ verify }) as unknown as TrustRankClient;
    for (const verdict of [undefined, {}, verifyReply("MAYBE" as never), "ALLOW"]) {
      const thrown = await rejection(
        trustGate(inner, { client: lying(async () => verdict) })(request("connect")),
      );
      expect((thrown as TrustGateError).response.status).toBeGreaterThanOrEqual(403);
    }
    const thrown = await rejection(trustGate(inner, { client: lying(boom) })(request("connect")));
    expect((thrown as TrustGateError).response.status).toBe(403);
    const gateway = { shakesHands: false, admit: boom, authorize: boom } as never;
    const closed = await rejection(trustGate(inner, { gateway })(request("connect")));
    expect((closed as TrustGateError).response.status).toBe(403);
  });
});

describe("verification at the gate", () => {
  const identities = (name: string) => ({ principalId: agent(name) });

  it("admits a challenged agent that it confirms, with the verdict, the leg and the call", async () => {
    const seen: unknown[] = [];
    const gate = trustGate(identities, {
      client,
      verification: (verdict, leg, { identity, event }) => {
        seen.push(["policy_action" in verdict, leg.subject, leg.tier, identity.principalId, event]);
        return true;
      },
    });
    const admitted = await gate("verify");
    const subject = agent("verify");
    expect(seen).toEqual([[true, subject, expect.any(String), subject, "verify"]]);
    expect(readTrustMark(admitted!)).toMatchObject({ isVerificationDue: false, headers: {} });
    await gate("connect");
    expect(seen).toHaveLength(1);
  });

  it("is asked about nobody who waits for a person or is refused, and only true confirms", async () => {
    let calls = 0;
    const verification = () => {
      calls += 1;
      return true;
    };
    for (const name of ["escalate", "refuse", "hallucinated"]) {
      const gate = trustGate(identities, { client, verification });
      expect(await rejection(gate(name))).toBeInstanceOf(TrustGateError);
    }
    expect(calls).toBe(0);
    for (const answer of [() => false, async () => false, (() => 1) as never, boom]) {
      const gate = trustGate(identities, { client, verification: answer });
      const thrown = (await rejection(gate("verify"))) as TrustGateError;
      expect([thrown.response.status, thrown.decision]).toEqual([403, "connect_with_verification"]);
    }
  });
});

describe("the gate by a gateway", () => {
  const identities = ({ name }: { name: string }) => ({ principalId: agent(name) });
  const open = (self?: string) => {
    const own = self === undefined ? {} : { agentId: agent(self) };
    const options = { ...service, ...own, timeoutMs: WAIT_MS_MAX };
    return new TrustGateway({ client: new TrustRankClient(options) });
  };

  it("admits nobody whom verify does not allow, also where the hands are shaken", async () => {
    const admitted: string[] = [];
    for (const gateway of [open(), open("connect")]) {
      for (const level of TOOL_LEVELS) {
        for (const name of ["verify", "escalate", "refuse", "hallucinated"]) {
          const { policy_action } = await client.verify({
            agent_id: agent(name),
            action: "route.call",
            tool_level: level,
          });
          const gate = trustGate(identities, { gateway, level });
          const isAdmitted = await gate({ name }).then(
            () => true,
            () => false,
          );
          if (!isAdmitted) continue;
          admitted.push(`${name} ${level}`);
          expect(policy_action.verdict, `${name} at ${level}`).toBe("ALLOW");
        }
      }
    }
    expect(new Set(admitted)).toEqual(
      new Set(
        ["verify", "escalate", "refuse", "hallucinated"].flatMap((name) => [
          `${name} L0`,
          `${name} L1`,
        ]),
      ),
    );
  });

  it("marks whom verify allows while the handshake asks for verification", async () => {
    const headers: unknown[] = [];
    // The gateway's own record is the weaker one here.
    const gate = trustGate(identities, {
      gateway: open("verify"),
      onAdmitted: (mark, { event }) => void headers.push(event.name, mark.headers),
    });
    const event = { name: "connect" };
    const identity = await gate(event);
    for (const holder of [identity!, event]) {
      expect(readTrustMark(holder)).toMatchObject({
        agentId: agent("connect"),
        isVerificationDue: true,
        weakerLeg: { subject: agent("verify"), decision: "connect_with_verification" },
      });
    }
    expect(headers).toEqual(["connect", { "X-Trust-Verification": "due" }]);
    await gate({ name: "connect" });
    expect(warnings, "once a gateway").toEqual([expect.stringContaining("pass `verification`")]);
    expect(readTrustMark({})).toBeUndefined();
  });

  it("verifies each agent once, the weaker leg of the handshake first", async () => {
    const seen: string[] = [];
    const verification = (_: unknown, leg: { subject: string }) => {
      seen.push(leg.subject);
      return true;
    };
    await trustGate(identities, { gateway: open("connect"), verification })({ name: "verify" });
    expect(seen, "handshake and verify are about one agent").toEqual([agent("verify")]);
    seen.length = 0;
    const gate = trustGate(identities, { gateway: open("verify"), verification });
    const event = { name: "connect" };
    await gate(event);
    expect(seen).toEqual([agent("verify")]);
    expect(readTrustMark(event)).toMatchObject({ isVerificationDue: false, headers: {} });
  });

  it("is closed at every level where a tool would be open", async () => {
    const gateway = new TrustGateway({ client: down });
    for (const level of TOOL_LEVELS) {
      const thrown = await rejection(
        trustGate(identities, { gateway, level })({ name: "connect" }),
      );
      expect(thrown).toBeInstanceOf(TrustGateUnavailableError);
    }
  });
});

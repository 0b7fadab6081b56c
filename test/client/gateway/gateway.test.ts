// TrustGateway on a clock of its own: the table of SPEC §8.1 under every fault at the exact
// milliseconds, what is let through, and who is told.
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { failPolicy } from "../../../src/client/gateway/fail-policy.ts";
import { answerHeaders } from "../../../src/client/ruling.ts";
import type { FetchLike } from "../../../src/client/runtime.ts";
import { TrustRankClient } from "../../../src/client/client.ts";
import { TrustGateway } from "../../../src/client/gateway/gateway.ts";
import { type LogReason, TOOL_LEVELS, type ToolLevel } from "../../../src/contract/vocabulary.ts";
import { AGENT, MINUTE_MS, open, settle } from "../_gateway.ts";
import { answersAfter, checkReply, service, verifyReply } from "../_replies.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const reject = (code: string) => async (): Promise<Response> => {
  throw new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
};
const reply = (body: string | null, status = 200, type = "application/json") => {
  return async () => new Response(body, { status, headers: { "content-type": type } });
};
const half = async () => {
  const text = JSON.stringify(verifyReply());
  const body = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(text.slice(0, 100)));
      controller.error(new TypeError("terminated"));
    },
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
};
const stalled = async () => {
  const start = (controller: ReadableStreamDefaultController) =>
    controller.enqueue(new TextEncoder().encode("{"));
  const body = new ReadableStream({ start });
  return new Response(body, { headers: { "content-type": "application/json" } });
};

const FAULTS: Record<string, FetchLike> = {
  "101 ms": answersAfter(101, verifyReply),
  "never an answer": () => new Promise(() => undefined),
  "connection refused": reject("ECONNREFUSED"),
  "connection reset": reject("ECONNRESET"),
  "DNS failure": reject("ENOTFOUND"),
  "half a body, then an end": half,
  "half a body, then silence": stalled,
  "status 500": reply("{}", 500),
  "status 503 with a problem": reply('{"code":"overloaded"}', 503, "application/problem+json"),
  "garbage JSON": reply("{{{"),
  "a wrong type": reply('{"policy_action":"ALLOW"}'),
  "an empty 200": reply(null),
  "a portal's page": reply("<html>", 200, "text/html"),
  "status 401": reply('{"code":"unauthenticated"}', 401, "application/problem+json"),
};

/** SPEC §8.1 as a table: level, action, status, mark, alerts, log entries, Retry-After. */
const TABLE = readFileSync(new URL("../../tables/fail-policy.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => /^L[0-3]/.test(line))
  .map((line) => line.trim().split(/\s+/) as [ToolLevel, ...string[]]);

describe.each(Object.keys(FAULTS))("%s", (name) => {
  it.each(TABLE)("%s: %s %s %s", async (level, action, status, mark, alerts, logs, retry) => {
    const gate = open(FAULTS[name]!);
    const answer = await settle(gate.ask(level));
    const again = await settle(gate.ask(level));
    expect(answer.allowed ? "ALLOW" : "BLOCK").toBe(action);
    expect([answer.word, answer.status]).toEqual([action, Number(status)]);
    expect(answer).toMatchObject({ degraded: true, failPolicy: mark, verdict: undefined });
    expect(answerHeaders(answer)["X-Trust-Degraded"]).toBe(mark);
    expect(String(answer.retryAfterSec)).toBe(retry === "-" ? "undefined" : retry);
    // Twice the same fault: told once, logged each time.
    expect(again.allowed).toBe(answer.allowed);
    expect(gate.alerts).toHaveLength(Number(alerts));
    expect(gate.logs).toHaveLength(2 * Number(logs));
  });
});

it("has a row for every tool level, and closes for anything else", () => {
  expect(TABLE.map(([level]) => level)).toEqual([...TOOL_LEVELS]);
  for (const stray of ["L4", "l0", "", undefined, "constructor"]) {
    expect(failPolicy(stray as ToolLevel)).toMatchObject({ action: "BLOCK" });
  }
});

describe("time", () => {
  it("takes an answer at 99 ms at every level", async () => {
    for (const level of TOOL_LEVELS) {
      const gate = open(answersAfter(99, verifyReply));
      const answer = await settle(gate.ask(level));
      expect(answer).toMatchObject({ allowed: true, degraded: false, isCached: false });
      expect(gate.alerts).toEqual([]);
    }
  });

  it("is over after 100 ms, not later", async () => {
    const gate = open(() => new Promise(() => undefined));
    let isDone = false;
    void gate.ask("L3").then(() => (isDone = true));
    await vi.advanceTimersByTimeAsync(99);
    expect(isDone).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isDone).toBe(true);
  });
});

describe("verdicts", () => {
  it("blocks with 403 whatever is not ALLOW", async () => {
    for (const word of ["CHALLENGE", "QUARANTINE", "BLOCK"] as const) {
      const answer = await settle(open(service(() => verifyReply(word))).ask("L1"));
      expect(answer).toMatchObject({ allowed: false, status: 403, word, degraded: false });
    }
  });

  it("lets a low score through on L1, flagged for review", async () => {
    const flagging: LogReason[] = [
      "RISK_FLAGGED_FOR_REVIEW",
      "DENIAL_FLAGGED_FOR_REVIEW",
      "THIN_FILE_FLAGGED",
      "CONTENT_HALLUCINATED",
      "AUDIT_SAMPLE",
    ];
    for (const log_reason of flagging) {
      const flagged = verifyReply("ALLOW", { policy_action: { verdict: "ALLOW", log_reason } });
      const gate = open(service(() => flagged));
      const answer = await settle(gate.ask("L1"));
      expect(answer).toMatchObject({ allowed: true, flagged: true });
      expect(answerHeaders(answer)["X-Trust-Flagged"]).toBe("true");
      expect(gate.logs).toMatchObject([{ kind: "low_score_allowed", agentId: AGENT }]);
    }
    // The service's word counts: a tenant may set its policy so that it flags nothing.
    const risky = verifyReply();
    risky.trust_evaluation.risk_level = "CRITICAL";
    const gate = open(service(() => risky));
    expect(await settle(gate.ask("L1"))).toMatchObject({ allowed: true, flagged: false });
  });

  it("tells of a flagged agent once an hour, whatever it asks, and of each in the log", async () => {
    const policy_action = { verdict: "ALLOW", log_reason: "RISK_FLAGGED_FOR_REVIEW" } as const;
    const gate = open(service(() => verifyReply("ALLOW", { policy_action })));
    const noticed = () => gate.flagged.map(({ agentId }) => agentId);
    for (const level of ["L1", "L0", "L1"] as const) await settle(gate.ask(level));
    expect([noticed(), gate.logs.length]).toEqual([[AGENT], 3]);
    await settle(gate.ask("L1", 0, "agent://acme/other"));
    expect(noticed()).toEqual([AGENT, "agent://acme/other"]);
    await vi.advanceTimersByTimeAsync(60 * MINUTE_MS);
    await settle(gate.ask("L1"));
    expect(noticed()).toEqual([AGENT, "agent://acme/other", AGENT]);
  });

  it("warns of a flagged agent where nobody is to be told, by a line without its control characters", async () => {
    const warn = vi.spyOn(console, "warn").mockReturnValue();
    const policy_action = { verdict: "ALLOW", log_reason: "RISK_FLAGGED_FOR_REVIEW" } as const;
    const fetch = service(() => verifyReply("ALLOW", { policy_action }));
    const client = new TrustRankClient({ baseUrl: "http://trust", fetch });
    const gateway = new TrustGateway({ client, follow: false });
    const agentId = "agent://acme/buyer\nroot: logged in";
    for (let times = 0; times < 3; times += 1)
      await settle(gateway.authorize({ agentId, action: "a.b", toolLevel: "L1" }));
    expect(warn.mock.calls).toEqual([
      [
        'trustrank: allowed "agent://acme/buyer\\nroot: logged in" at L1, flagged for review: ' +
          "RISK_FLAGGED_FOR_REVIEW, request request-1",
      ],
    ]);
  });

  it("holds a challenge that waits for a person and names the review, of its own level alone", async () => {
    const review = { id: "rv-1", wait: "/v1/reviews/rv-1?wait=30" };
    const level = {
      verdict: "CHALLENGE" as const,
      log_reason: "RISK_ABOVE_BOUND" as const,
      threshold_met: true,
      reason_codes: [],
      max_stakes: 0,
      enforced: true,
      holds_from: 0,
      holds_to: null,
    };
    const levels = { L2: { ...level, log_reason: "STAKES_NEED_APPROVAL" as const }, L3: level };
    const fetch = service(() => verifyReply("CHALLENGE", { review, levels }));
    const gate = open(fetch);
    const held = await settle(gate.ask("L2", 50));
    expect(held).toMatchObject({ allowed: false, status: 403 });
    expect(answerHeaders(held)).toMatchObject({ "X-Trust-Review": "rv-1" });
    const other = await settle(gate.ask("L3", 50));
    expect(other).toMatchObject({ allowed: false, isCached: true, reason: "RISK_ABOVE_BOUND" });
    expect(answerHeaders(other)).not.toHaveProperty("X-Trust-Review");
  });

  it("lets through what is marked for a gateway that verifies out of band, and says so", async () => {
    const marked = verifyReply("ALLOW", {
      policy_action: { verdict: "ALLOW", log_reason: "STAKES_NEED_VERIFICATION" },
      reason_codes: ["STAKES_NEED_VERIFICATION"],
    });
    const answer = await settle(open(service(() => marked)).ask("L3", 50));
    expect(answer).toMatchObject({ allowed: true, status: 200, flagged: true });
    expect(answerHeaders(answer)).toMatchObject({
      "X-Trust-Effective": "allow",
      "X-Trust-Verification": "due",
      "X-Trust-Reason": "STAKES_NEED_VERIFICATION",
    });
  });

  it("applies none of a shadow key, but shows and logs it", async () => {
    const gate = open(service(() => verifyReply("BLOCK", { enforced: false })));
    const answer = await settle(gate.ask("L3"));
    expect(answer).toMatchObject({ allowed: true, word: "BLOCK", flagged: true });
    expect(answerHeaders(answer)).toMatchObject({
      "X-Trust-Effective": "allow",
      "X-Trust-Verdict": "BLOCK",
    });
  });

  it("by check: a leg's decision stands at L2 and L3, and is flagged at L1", async () => {
    const fetch = service(({ subject, stakes }) => checkReply(subject!, stakes, "refuse"));
    const { gateway, logs } = open(fetch);
    const at = (toolLevel: ToolLevel) => gateway.check({ agentId: AGENT, toolLevel, stakes: 5 });
    expect(await settle(at("L3"))).toMatchObject({ allowed: false, status: 403, word: "refuse" });
    expect(await settle(at("L1"))).toMatchObject({ allowed: true, flagged: true, isCached: true });
    expect(await settle(at("L0"))).toMatchObject({ allowed: true, flagged: true });
    expect(fetch.calls).toBe(1);
    expect(logs).toHaveLength(2);
  });
});

describe("alerts", () => {
  it("come on the first blocked request, then once a minute, and are no siren for a service that flaps", async () => {
    let isUp = false;
    const fetch: FetchLike = async () => {
      if (!isUp) throw new TypeError("fetch failed");
      return Response.json(verifyReply("CHALLENGE"));
    };
    const gate = open(fetch);
    await settle(gate.ask("L1"));
    expect(gate.alerts, "nothing is blocked").toEqual([]);
    const startMs = Date.now();
    for (let index = 0; index < 5; index += 1) await settle(gate.ask("L3"));
    const since = new Date(startMs).toISOString();
    expect(gate.alerts).toMatchObject([
      { kind: "service_unreachable", blockedCount: 1, sinceMs: startMs, since },
    ]);
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    await settle(gate.ask("L3"));
    expect(gate.alerts[1]).toMatchObject({ blockedCount: 6, since, agentId: AGENT });
    isUp = true;
    await settle(gate.ask("L2", 1));
    isUp = false;
    const secondMs = Date.now();
    await settle(gate.ask("L3"));
    expect(gate.alerts, "within the minute").toHaveLength(2);
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    await settle(gate.ask("L3"));
    expect(gate.alerts[2]).toMatchObject({ blockedCount: 2, sinceMs: secondMs, toolLevel: "L3" });
    expect(gate.alerts).toHaveLength(3);
  });

  it("and logs that throw change nothing", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const later = () => Promise.reject(new Error("boom"));
    for (const callback of [boom, later]) {
      const gate = open(reject("ECONNREFUSED"), { onAlert: callback, onLog: callback });
      expect(await settle(gate.ask("L2"))).toMatchObject({ status: 503 });
      expect(await settle(gate.ask("L1"))).toMatchObject({ status: 200 });
    }
  });
});

const problemReply = (body: object) =>
  Response.json(body, { status: 400, headers: { "content-type": "application/problem+json" } });

describe("the caller's own faults", () => {
  it("open nothing at any level and alert nobody", async () => {
    for (const level of TOOL_LEVELS) {
      const gate = open(answersAfter(50, verifyReply));
      const signal = AbortSignal.abort();
      const question = { agentId: AGENT, action: "a.b", toolLevel: level };
      const hungUp = await settle(gate.gateway.authorize({ ...question, signal }));
      expect(hungUp).toMatchObject({ allowed: false, status: 503, reason: "aborted" });
      const stakes = Number.NaN;
      const nonsense = await settle(gate.gateway.authorize({ ...question, stakes }));
      expect(nonsense).toMatchObject({ allowed: false, status: 403, reason: "invalid_argument" });
      expect(gate.alerts).toEqual([]);
      const body = { code: "invalid_request", detail: "the request is not valid", errors: [] };
      const refused = open(() => Promise.resolve(problemReply(body)));
      const invalid = await settle(refused.gateway.authorize(question));
      expect(invalid).toMatchObject({ allowed: false, status: 403, reason: "invalid_request" });
      expect(refused.alerts).toEqual([]);
    }
  });
});

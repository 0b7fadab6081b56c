// Earlier calls of agents, as verify, check and handshake go by them, over the real engine and the real memory:
// unsettled stakes, limits on what an agent does within an hour, and how a logged decision is judged again.
import { randomFillSync } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { AgentActivity } from "../../../src/bureau/activity/activity.ts";
import { ReviewDecisionCache } from "../../../src/bureau/reviews/decision-cache.ts";
import { KeyRegistry } from "../../../src/bureau/reporters/key-registry.ts";
import { createActivityMemory } from "../../../src/bureau/activity/layout.ts";
import type { DecisionEntry } from "../../../src/contract/decisions.ts";
import type { PolicyRequest } from "../../../src/contract/schemas/policy.ts";
import { parsePolicy } from "../../../src/contract/parse/policy.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../../src/contract/policy.ts";
import type {
  CheckResponse,
  HandshakeResponse,
  VerifyResponse,
} from "../../../src/contract/schemas/scores.ts";
import { DECISION } from "../../../src/contract/vocabulary.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import type { Ledger } from "../../../src/ledger/ledger.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { closedLedger, NEWEST_MS, openSampleBureau, principal } from "../_harness.ts";
import { legOf } from "../../store/_decisions.ts";

const GOOD = "agent://acme/ledger-sync";
const OTHER = "agent://hooli/search-agent";
const DAY_MS = 86_400_000;
const by = { ...principal, minimumScores: MINIMUM_SCORES_DEFAULT };

function open(policy: PolicyRequest = {}) {
  const active = createActivePolicy(parsePolicy(policy));
  const time = { nowMs: NEWEST_MS };
  const logged: DecisionEntry[] = [];
  const activity = new AgentActivity(createActivityMemory(randomFillSync, NEWEST_MS));
  const registry = new KeyRegistry();
  const ledger: Ledger = {
    ...closedLedger,
    append: (record: OutcomeRecord) => Promise.resolve({ id: record.outcomeId } as never),
  };
  const { bureau } = openSampleBureau({
    policies: { findActivePolicy: () => active, findPolicyVersion: () => active.policy },
    clock: () => time.nowMs,
    activity,
    registry,
    reviews: new ReviewDecisionCache(() => undefined),
    ledger,
    decisions: { admit: () => true, record: (entry) => void logged.push(copyEntry(entry)) },
  });
  let count = 0;
  const callOf = (asker = by) => ({ requestId: `request-${(count += 1)}`, principal: asker });
  const verify = (request: object = {}, asker = by) =>
    bureau.verify(
      { agent_id: GOOD, action: "a.b", tool_level: "L3", context: {}, ...request },
      callOf(asker),
    ) as VerifyResponse;
  const check = (request: object = {}, asker = by) =>
    bureau.check({ subject: GOOD, stakes: 8, ...request }, callOf(asker)) as CheckResponse;
  const report = (requestId: string, told: object = {}, asker = by) =>
    bureau.recordOutcome(
      {
        subject: GOOD,
        reporter: "agent://acme/desk",
        outcome: 1,
        stakes: 8,
        grade: "counterparty",
        request_id: requestId,
        ...told,
      },
      {
        ...callOf(asker),
        body: new Uint8Array(0),
        idempotencyKey: undefined,
        traceparent: undefined,
      },
    );
  const unsettled = (agent = GOOD, tenant = by.tenant) =>
    activity.readUnsettled(tenant, agent, time.nowMs);
  return { bureau, verify, check, report, unsettled, activity, registry, time, logged, callOf };
}

function copyEntry(entry: DecisionEntry): DecisionEntry {
  return { ...entry, reasonCodes: [...entry.reasonCodes], inputs: Float64Array.from(entry.inputs) };
}

const said = ({ policy_action: { verdict, log_reason: label } }: VerifyResponse) =>
  `${verdict} ${label}`;

/** Most stakes that connect without more in one call. */
function measureLargest({ check }: ReturnType<typeof open>): number {
  return check({ stakes: 0.01, reserve: false }).max_stakes!;
}

describe("stakes that no outcome has settled", () => {
  let world: ReturnType<typeof open>;
  beforeEach(() => {
    world = open();
  });

  it("count with those of the call, which is judged as one of the sum", () => {
    const largest = measureLargest(world);
    const stakes = largest / 20;
    const answers = Array.from({ length: 200 }, () => world.check({ stakes }));
    const connected = answers.filter(({ decision }) => decision === "connect").length;
    expect(connected).toBe(20);
    const first = answers[connected]!;
    expect(first.reason_codes).toEqual(["EXPOSURE_ABOVE_CAP"]);
    expect(first.reasons[0]).toMatch(/^Earlier stakes of \d/);
    // One call of the sum asks for the same.
    const single = open().check({ stakes: world.unsettled() + stakes });
    expect(answers.at(-1)!.decision).toBe(single.decision);
  });

  it("lower the largest stakes that an answer names, and make it one for one call", () => {
    const largest = measureLargest(world);
    const first = world.check({ stakes: 8 });
    expect(first.max_stakes).toBeCloseTo(largest, 6);
    const second = world.check({ stakes: 8 });
    expect(second.max_stakes).toBeCloseTo(largest - 8, 6);
    expect(second.expires_at).toBe(second.evaluated_at);
    const looked = world.check({ stakes: 8, reserve: false });
    expect(looked.expires_at > looked.evaluated_at).toBe(true);
    expect(looked.max_stakes).toBeCloseTo(largest, 6);
  });

  it("are those of verify, check and handshake together", () => {
    world.verify({ stakes: 5 });
    world.check({ stakes: 3 });
    expect(world.unsettled()).toBeCloseTo(8, 9);
    const answer = world.bureau.handshake(
      { initiator: OTHER, counterparty: GOOD, stakes: 2 },
      world.callOf(),
    ) as HandshakeResponse;
    expect(answer.decision).toBe("connect");
    expect(world.unsettled()).toBeCloseTo(10, 9);
    expect(world.unsettled(OTHER)).toBeCloseTo(2, 9);
    world.verify();
    world.verify({ stakes: 4, tool_level: "L1" });
    expect(world.unsettled()).toBeCloseTo(10, 9);
  });

  it("are held for what verifying does not catch where the answer asks for it, and not at all where it waits", () => {
    const largest = measureLargest(world);
    const verified = world.check({ stakes: largest * 1.01 });
    expect(verified.decision).toBe("connect_with_verification");
    expect(world.unsettled()).toBeCloseTo(0.2 * largest * 1.01, 6);
    const before = world.unsettled();
    expect(world.check({ stakes: 1e6 }).allowed).toBe(false);
    expect(world.unsettled()).toBeCloseTo(before, 6);
  });

  it("belong to the tenant that asked", () => {
    const stakes = measureLargest(world) * 0.9;
    expect(world.check({ stakes }).decision).toBe("connect");
    expect(world.check({ stakes }, { ...by, tenant: "rival" }).decision).toBe("connect");
    expect(world.check({ stakes }).decision).not.toBe("connect");
  });

  it("fade within the week that outcomes may take", () => {
    world.check({ stakes: 100 });
    world.time.nowMs += 7 * DAY_MS;
    expect(world.unsettled()).toBeCloseTo(100 / Math.E, 6);
  });

  it("are freed once by a success that a first-party key of the tenant reports", async () => {
    const { request_id: id } = world.check({ stakes: 100 });
    const stranger = { ...by, isFirstParty: false };
    await world.report(id, { outcome: 0, stakes: 100 });
    await world.report(id, { stakes: 100 }, stranger);
    await world.report(id, { stakes: 100 }, { ...by, tenant: "rival" });
    await world.report(id, { stakes: 100, subject: OTHER });
    await world.report("unknown", { stakes: 100 });
    expect(world.unsettled()).toBeCloseTo(100, 9);
    await world.report(id, { stakes: 60 });
    expect(world.unsettled()).toBeCloseTo(40, 9);
    await world.report(id, { stakes: 100 });
    expect(world.unsettled()).toBeCloseTo(40, 9);
  });

  it("of a handshake are freed for both parties by one success, and never by its signer alone", async () => {
    const asked = { ...world.callOf(), requestId: "deal-1" };
    void world.bureau.handshake({ initiator: OTHER, counterparty: GOOD, stakes: 50 }, asked);
    expect([world.unsettled(), world.unsettled(OTHER)]).toEqual([50, 50]);
    await world.report("deal-1", { reporter: OTHER, stakes: 50 }, { ...by, isFirstParty: false });
    expect([world.unsettled(), world.unsettled(OTHER)]).toEqual([50, 50]);
    await world.report("deal-1", { reporter: OTHER, stakes: 50 });
    expect([world.unsettled(), world.unsettled(OTHER)]).toEqual([0, 0]);
  });

  it("of a handshake are not those of an agent of the tenant's own namespace", () => {
    world.registry.apply({
      event: "namespace.granted",
      namespace: "hooli",
      tenant: by.tenant,
      vouched: false,
      granted_by: "admin",
      at_ms: NEWEST_MS,
    } as never);
    void world.bureau.handshake(
      { initiator: OTHER, counterparty: GOOD, stakes: 50 },
      world.callOf(),
    );
    expect([world.unsettled(), world.unsettled(OTHER)]).toEqual([50, 0]);
  });

  it("ask a person where one call of the sum would, under the same review", () => {
    const { review } = world.verify({ stakes: 1e7, tool_level: "L2" });
    expect(review).toBeDefined();
    const stakes = measureLargest(world);
    let answer = world.verify({ stakes, tool_level: "L2" });
    for (let turn = 0; turn < 200 && answer.review === undefined; turn += 1)
      answer = world.verify({ stakes, tool_level: "L2" });
    expect(said(answer)).toBe("CHALLENGE EXPOSURE_ABOVE_CAP");
    expect(answer.review).toEqual(review);
    expect(world.logged.at(-1)!.decisionIndex).toBe(DECISION.escalate);
  });

  it("do nothing where the policy ignores them, and are only counted where it logs them", () => {
    for (const mode of ["ignore", "log"] as const) {
      const lenient = open({ unsettled_stakes: mode });
      const stakes = measureLargest(lenient) * 0.9;
      for (let i = 0; i < 5; i += 1) expect(lenient.check({ stakes }).decision).toBe("connect");
      expect(said(lenient.verify({ stakes: stakes / 10, tool_level: "L2" }))).toBe(
        "ALLOW TRUST_SUFFICIENT",
      );
      const counts = lenient.activity.listLimitCounts().filter(({ count }) => count > 0);
      expect(counts.map(({ code, mode: of }) => [code, of])).toEqual(
        mode === "log" ? [["EXPOSURE_ABOVE_CAP", "log"]] : [],
      );
    }
  });

  it("stop at `exposure_max` of the level, whatever the score would bear", () => {
    const capped = open({
      levels: { L3: { limits: { exposure_max: { max: 20, mode: "enforce" } } } },
    });
    const answers = Array.from({ length: 4 }, () => said(capped.verify({ stakes: 6 })));
    expect(answers).toEqual([
      ...Array.from({ length: 3 }, () => "ALLOW TRUST_SUFFICIENT"),
      "CHALLENGE EXPOSURE_ABOVE_CAP",
    ]);
  });
});

describe("limits on what an agent does", () => {
  it("challenge at L3 when hundreds of actions are new within seconds, with one tenant alone", () => {
    const { verify } = open();
    const rival = { ...by, tenant: "rival" };
    const answers = Array.from({ length: 400 }, (_, i) =>
      said(verify({ action: `wire.transfer_${i}` }, rival)),
    );
    const first = answers.indexOf("CHALLENGE NEW_ACTIONS");
    expect(first).toBeGreaterThan(30);
    expect(first).toBeLessThan(50);
    expect(answers.slice(first).every((each) => each === "CHALLENGE NEW_ACTIONS")).toBe(true);
    for (let i = 0; i < 20; i += 1)
      expect(said(verify({ action: `wire.transfer_${i}` }))).toBe("ALLOW TRUST_SUFFICIENT");
  });

  it("leave an agent alone that does a thousand times an hour what it always did", () => {
    const { verify, time } = open();
    for (let i = 0; i < 3000; i += 1) {
      time.nowMs += 3600;
      expect(said(verify({ action: `orders.step_${i % 10}` }))).toBe("ALLOW TRUST_SUFFICIENT");
    }
  });

  it("end with the hour", () => {
    const { verify, time } = open();
    for (let i = 0; i < 60; i += 1) verify({ action: `a.n${i}` });
    expect(said(verify({ action: "a.n60" }))).toBe("CHALLENGE NEW_ACTIONS");
    time.nowMs += 2 * 3_600_000;
    expect(said(verify({ action: "a.n61" }))).toBe("ALLOW TRUST_SUFFICIENT");
  });

  it("mark once a day, and change no verdict, where they are only logged", () => {
    const { verify, activity } = open();
    const answers = Array.from({ length: 400 }, (_, i) =>
      said(verify({ action: `a.n${i}`, tool_level: "L2" })),
    );
    expect(answers.filter((each) => each === "ALLOW NEW_ACTIONS")).toHaveLength(1);
    expect(new Set(answers)).toEqual(new Set(["ALLOW NEW_ACTIONS", "ALLOW TRUST_SUFFICIENT"]));
    const counted = activity.listLimitCounts().find(({ count }) => count > 0)!;
    expect(counted).toMatchObject({ code: "NEW_ACTIONS", mode: "log" });
    expect(counted.count).toBeGreaterThan(300);
  });

  it("count calls and the age of a session as the policy says", () => {
    const { verify } = open({
      levels: {
        L3: {
          limits: {
            calls_per_hour: { max: 5, mode: "enforce" },
            session_max_sec: { max: 60, mode: "enforce" },
          },
        },
      },
    });
    const old = { context: { session_duration_sec: 61 } };
    expect(said(verify(old))).toBe("CHALLENGE SESSION_TOO_OLD");
    for (let i = 0; i < 4; i += 1) expect(said(verify())).toBe("ALLOW TRUST_SUFFICIENT");
    const last = verify();
    expect(said(last)).toBe("CHALLENGE UNUSUAL_RATE");
    expect(last.reason_codes).toContain("UNUSUAL_RATE");
    expect(last.expires_at).toBe(last.evaluated_at);
  });

  it("are not counted by who only looks", () => {
    const { verify } = open();
    for (let i = 0; i < 400; i += 1)
      expect(said(verify({ action: `a.n${i}`, reserve: false }))).toBe("ALLOW TRUST_SUFFICIENT");
    expect(said(verify())).toBe("ALLOW TRUST_SUFFICIENT");
  });
});

describe("what was decided by them", () => {
  it("is judged again as it was", () => {
    const { verify, check, bureau, logged } = open();
    const stakes = check({ stakes: 0.01, reserve: false }).max_stakes! / 3;
    for (let i = 0; i < 60; i += 1) {
      verify({ action: `a.n${i}`, stakes });
      verify({ action: `a.n${i}` });
      verify({ action: `a.n${i}`, tool_level: "L2" });
      check({ stakes });
      void bureau.handshake(
        { initiator: OTHER, counterparty: GOOD, stakes },
        {
          requestId: `h-${i}`,
          principal: by,
        },
      );
    }
    const reasons = new Set(logged.map(({ logReason }) => logReason));
    expect(reasons).toContain("EXPOSURE_ABOVE_CAP");
    expect(reasons).toContain("NEW_ACTIONS");
    const byRequest = Map.groupBy(logged, ({ requestId }) => requestId);
    for (const entries of byRequest.values()) {
      const { differences } = bureau.replayDecision(entries.map(legOf), undefined);
      expect(differences).toEqual([]);
    }
  });
});

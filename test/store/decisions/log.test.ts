// The decision log from the bureau that decides to the rows an analyst reads: nothing lost but what
// may be, the same numbers, one tenant's to itself, judged again by the same engine.
import { expect, test } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { createDecisionRing } from "../../../src/store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import { PolicyBook } from "../../../src/policy/policy-book.ts";
import { createActivePolicy } from "../../../src/policy/active-policy.ts";
import { isInAuditSample } from "../../../src/policy/audit-sample.ts";
import { parsePolicy } from "../../../src/contract/parse/policy.ts";
import { MINIMUM_SCORES_DEFAULT } from "../../../src/contract/policy.ts";
import { startStore } from "../../../src/store/client.ts";
import { entryOf, NOW_MS, openTable, principalOf } from "../_decisions.ts";
import { KEPT_DAYS, openWith, temporary } from "../_decision-store.ts";
import { LIMITS } from "../_fixtures.ts";

/** Of the policy below that allows up to 4 % at L3; and what stood there before it followed the policy. */
const DEFAULT_MINIMUM_L3 = 563;
const FORMER_MINIMUM_L3 = 550;

const callOf = (requestId: string, principal = principalOf("acme")) => ({ requestId, principal });

const verifyOf = (agent: string, level: "L0" | "L1" | "L2" | "L3") =>
  ({ agent_id: agent, action: "order.place", tool_level: level, context: {} }) as const;

test("every answer is there with what it said and what it was judged from", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const { bureau } = openTable(new DecisionRingWriter(ring, { waitMs: 0 }));
  const verdict = await bureau.verify(verifyOf("agent://shop/bad", "L3"), callOf("r-1"));
  const shadow = principalOf("acme", true);
  await bureau.verify(verifyOf("agent://shop/bad", "L2"), callOf("r-2", shadow));
  const check = await bureau.check({ subject: "agent://shop/good", stakes: 9 }, callOf("r-3"));
  const parties = { initiator: "agent://acme/r1", counterparty: "agent://shop/bad", stakes: 70 };
  const both = await bureau.handshake(parties, callOf("r-4"));
  await bureau.check({ subject: "agent://test/refuse", stakes: 9 }, callOf("r-5"));

  const legs = await store.listDecisions({ tenant: "acme", limit: 100 });
  expect(legs.map((leg) => [leg.request_id, leg.kind, leg.leg])).toEqual([
    ["r-1", "verify", "a_to_b"],
    ["r-2", "verify", "a_to_b"],
    ["r-3", "check", "a_to_b"],
    ["r-4", "handshake", "a_to_b"],
    ["r-4", "handshake", "b_to_a"],
    ["r-5", "check", "a_to_b"],
  ]);
  const [first, second, third, forward, backward, reserved] = legs;
  expect(first).toMatchObject({
    evaluated_at: verdict.evaluated_at,
    tenant: "acme",
    key_id: "key-acme",
    subject: "agent://shop/bad",
    viewer: null,
    action: "order.place",
    tool_level: "L3",
    verdict: verdict.policy_action.verdict,
    log_reason: verdict.policy_action.log_reason,
    effective: "deny",
    enforced: true,
    reason_codes: verdict.reason_codes,
    config_version: verdict.config_version,
    policy_version: verdict.policy_version,
    known: true,
  });
  // The three fields stay three: a shadow key is let through by a verdict that says no.
  expect(second).toMatchObject({ effective: "allow", enforced: false });
  expect(second!.verdict).not.toBe("ALLOW");
  expect(third).toMatchObject({ verdict: null, tool_level: null, decision: check.decision });
  expect(forward).toMatchObject({
    subject: parties.counterparty,
    viewer: parties.initiator,
    decision: both.decision,
    leg_decision: both.a_to_b.decision,
  });
  expect(backward).toMatchObject({
    subject: parties.initiator,
    decision: both.decision,
    leg_decision: both.b_to_a.decision,
  });
  expect(reserved).toMatchObject({ is_test: true, decision: "refuse", effective: "deny" });
});

test("the session's duration and the action are logged, and can be asked for in SQL", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const { bureau } = openTable(new DecisionRingWriter(ring, { waitMs: 0 }));
  for (const [id, seconds] of [
    ["none", undefined],
    ["zero", 0],
    ["hour", 3600],
    ["years", 1_000_000_000],
  ] as const) {
    const context = seconds === undefined ? {} : { session_duration_sec: seconds };
    await bureau.verify({ ...verifyOf("agent://shop/bad", "L3"), context }, callOf(id));
  }
  await bureau.check({ subject: "agent://shop/good", stakes: 9 }, callOf("check"));
  const sql = "SELECT request_id, action, session_duration_sec FROM decisions ORDER BY ALL";
  await store.listDecisions({ tenant: "acme", limit: 1 });
  expect((await store.query(sql, LIMITS)).rows).toEqual([
    ["check", null, null],
    ["hour", "order.place", 3600],
    ["none", "order.place", null],
    ["years", "order.place", 0xffffff],
    ["zero", "order.place", 0],
  ]);
  const legs = await store.listDecisions({ tenant: "acme", limit: 100 });
  expect(legs.find((leg) => leg.request_id === "hour")!.session_duration_sec).toBe(3600);
});

test("the entry of the policy's actions is logged with the level that it gave", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const actions = Array.from({ length: 200 }, (_, n) => ({ match: `a.b${n}`, level: "L3" }));
  const active = createActivePolicy(parsePolicy({ actions }));
  const { bureau } = openTable(new DecisionRingWriter(ring, { waitMs: 0 }), () => NOW_MS, {
    findActivePolicy: () => active,
    findPolicyVersion: () => active.policy,
  });
  for (const action of ["a.b0", "a.b199", "c.d"]) {
    await bureau.verify({ ...verifyOf("agent://shop/bad", "L1"), action }, callOf(action));
  }
  const legs = await store.listDecisions({ tenant: "acme", limit: 9 });
  const read = legs.map((leg) => [leg.request_id, leg.action_entry, leg.tool_level]);
  expect(read.toSorted(([a], [b]) => (a! < b! ? -1 : 1))).toEqual([
    ["a.b0", 0, "L3"],
    ["a.b199", 199, "L3"],
    ["c.d", null, "L1"],
  ]);
});

test("judged again it is the same to the bit; under another config the difference", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const { bureau, writer } = openTable(new DecisionRingWriter(ring, { waitMs: 0 }));
  await bureau.verify(verifyOf("agent://shop/bad", "L2"), callOf("v"));
  // Flagged the first time of the day, tolerated after it: what was logged is what is judged.
  await bureau.verify(verifyOf("agent://nobody/knows", "L1"), callOf("t-1"));
  await bureau.verify(verifyOf("agent://nobody/knows", "L1"), callOf("t-2"));
  await bureau.check({ subject: "agent://nobody/knows", stakes: 800 }, callOf("c"));
  const parties = { initiator: "agent://shop/bad", counterparty: "agent://shop/good", stakes: 5 };
  await bureau.handshake(parties, callOf("h"));
  const stricter = { ...loadDefaultConfig(), name: "stricter", caution: 3, loss: 20 };
  writer.installConfig(stricter);
  for (const requestId of ["v", "t-1", "t-2", "c", "h"]) {
    const legs = await store.listDecisions({ tenant: undefined, requestId, limit: 10 });
    const recorded = legs[0]!.config_version;
    const same = bureau.replayDecision(legs, recorded);
    expect(same).toEqual({
      request_id: requestId,
      recorded_config: recorded,
      replayed_config: recorded,
      recorded_policy: legs[0]!.policy_version,
      replayed_policy: legs[0]!.policy_version,
      identical: true,
      differences: [],
    });
    const other = bureau.replayDecision(legs, undefined);
    expect(other.replayed_config).not.toBe(recorded);
    expect(other.identical).toBe(false);
    expect(other.differences.map((each) => each.member)).toContain("effective_score");
    expect(() => bureau.replayDecision(legs, "c-0000000000000000")).toThrow("not_found");
  }
});

test("judged again by the policy of its time, whatever is in force now", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const book = new PolicyBook();
  const { bureau } = openTable(new DecisionRingWriter(ring, { waitMs: 0 }), () => NOW_MS, book);
  const set = (levels: object) => {
    const policy = parsePolicy({ levels, allow_inverted: true });
    const { version } = createActivePolicy(policy);
    const by = { tenant: "acme", set_by: "key-1", at_ms: NOW_MS };
    book.apply({ event: "policy.set", policy, version, ...by });
  };
  const levels = { L2: { shadow: true }, L3: { shadow: true, minimum_score: 850 } };
  set(levels);
  await bureau.verify(verifyOf("agent://shop/good", "L3"), callOf("v"));
  await bureau.check({ subject: "agent://shop/bad", stakes: 900 }, callOf("c"));
  set({ L3: { enforce: false } });
  const legs = await store.listDecisions({ tenant: "acme", requestId: "v", limit: 1 });
  expect(legs[0]).toMatchObject({
    verdict: "CHALLENGE",
    log_reason: "BELOW_TENANT_MINIMUM",
    minimum_score: 850,
    enforced: false,
    effective: "allow",
  });
  expect(legs[0]!.policy_version).not.toBe(book.findActivePolicy("acme").version);
  const { config_version: config } = legs[0]!;
  expect(bureau.replayDecision(legs, config)).toMatchObject({ identical: true, differences: [] });
  const [check] = await store.listDecisions({ tenant: "acme", requestId: "c", limit: 1 });
  expect(check).toMatchObject({ enforced: false, policy_version: legs[0]!.policy_version });
  const older = legs.map((leg) => ({ ...leg, policy_version: null }));
  const now = bureau.replayDecision(older, config).differences.map(({ member }) => member);
  expect(now, "a decision that names none, by the policy of now").toContain("verdict");
  expect(bureau.replayDecision(older, config)).toMatchObject({
    recorded_policy: null,
    replayed_policy: book.findActivePolicy("acme").version,
  });
  const unheld = legs.map((leg) => ({ ...leg, policy_version: "p-0000000000000000" }));
  expect(() => bureau.replayDecision(unheld, config)).toThrow("not_found");
});

test("the operator's word is judged again as it stood at the time of the decision", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const book = new PolicyBook();
  const at = { nowMs: NOW_MS };
  const decisions = new DecisionRingWriter(ring, { waitMs: 0 });
  const { bureau } = openTable(decisions, () => at.nowMs, book);
  const untilMs = NOW_MS + 1000;
  const vouched = [
    { namespace: "agent://mine/*", until: new Date(untilMs).toISOString(), up_to: "L3" },
  ];
  const policy = parsePolicy({ levels: { L3: { allow_up_to: 0.04 } }, vouched });
  const by = { tenant: "acme", set_by: "key-1", at_ms: NOW_MS };
  book.apply({ event: "policy.set", policy, version: createActivePolicy(policy).version, ...by });
  const principal = { ...principalOf("acme"), minimumScores: MINIMUM_SCORES_DEFAULT };
  for (const [id, nowMs] of [
    ["last", untilMs - 1],
    ["late", untilMs],
  ] as const) {
    at.nowMs = nowMs;
    await bureau.verify(verifyOf("agent://mine/new", "L3"), callOf(id, principal));
  }
  const back = parsePolicy({});
  book.apply({
    event: "policy.set",
    policy: back,
    version: createActivePolicy(back).version,
    ...by,
  });
  at.nowMs += 1e9;
  for (const [id, verdict, label] of [
    ["last", "ALLOW", "VOUCHED"],
    ["late", "CHALLENGE", "THIN_FILE"],
  ]) {
    const legs = await store.listDecisions({ tenant: "acme", requestId: id!, limit: 1 });
    expect(legs).toMatchObject([
      { verdict, log_reason: label, known: false, minimum_score: DEFAULT_MINIMUM_L3 },
    ]);
    expect(legs[0]!.reason_codes.includes("VOUCHED")).toBe(label === "VOUCHED");
    expect(bureau.replayDecision(legs, legs[0]!.config_version)).toMatchObject({
      identical: true,
      recorded_policy: createActivePolicy(policy).version,
      replayed_policy: createActivePolicy(policy).version,
    });
    // Both were only reported, whether or not the score was above: neither challenges anybody now.
    const { internal_score: score } = legs[0]!;
    for (const minimum of [DEFAULT_MINIMUM_L3, FORMER_MINIMUM_L3]) {
      expect(score).toBeLessThan(minimum);
      const older = legs.map((leg) => ({ ...leg, minimum_score: minimum }));
      expect(bureau.replayDecision(older, legs[0]!.config_version).differences).toEqual([]);
    }
    const named = legs.map((leg) => ({ ...leg, minimum_score: 540 }));
    const { differences } = bureau.replayDecision(named, legs[0]!.config_version);
    expect(differences.map(({ member }) => member).includes("verdict")).toBe(verdict === "ALLOW");
  }
});

test("a lot that was drawn is judged again as drawn, and one that was not as held back", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const book = new PolicyBook();
  const { bureau } = openTable(new DecisionRingWriter(ring, { waitMs: 0 }), () => NOW_MS, book);
  const policy = parsePolicy({ levels: { L2: { audit_one_in: 2 } } });
  const { version } = createActivePolicy(policy);
  const by = { tenant: "acme", set_by: "key-1", at_ms: NOW_MS };
  book.apply({ event: "policy.set", policy, version, ...by });
  const principal = { ...principalOf("acme"), minimumScores: MINIMUM_SCORES_DEFAULT };
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const id of names) {
    await bureau.verify(verifyOf(`agent://new/${id}`, "L2"), callOf(id, principal));
  }
  const labels = new Set<string>();
  for (const requestId of names) {
    const legs = await store.listDecisions({ tenant: "acme", requestId, limit: 1 });
    const isWon = isInAuditSample(requestId, 2);
    const label = isWon ? "AUDIT_SAMPLE" : "THIN_FILE";
    expect(legs).toMatchObject([{ log_reason: label, verdict: isWon ? "ALLOW" : "CHALLENGE" }]);
    expect(bureau.replayDecision(legs, legs[0]!.config_version)).toMatchObject({ identical: true });
    labels.add(label);
  }
  expect(labels.size).toBe(2);
});

test("an entry from before outcomes were counted is not judged again as a thin one", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const { bureau } = openTable(new DecisionRingWriter(ring, { waitMs: 0 }));
  await bureau.verify(verifyOf("agent://shop/bad", "L2"), callOf("v"));
  const legs = await store.listDecisions({ tenant: "acme", requestId: "v", limit: 1 });
  const counted = legs[0]!.inputs.indexOf(60);
  expect(counted, "the number of outcomes is among the inputs").toBeGreaterThan(0);
  const older = legs.map((leg) => ({ ...leg, inputs: leg.inputs.with(counted, 0) }));
  expect(bureau.replayDecision(older, legs[0]!.config_version).identical).toBe(true);
});

test("what is in the ring at the end is in the store after a restart", async () => {
  const dataDir = temporary();
  const ring = createDecisionRing();
  const first = await startStore({
    dataDir,
    isStandalone: true,
    rings: [ring],
    decisionsKeptDays: KEPT_DAYS,
  });
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  for (let n = 0; n < 5000; n++) writer.record(entryOf(n, n % 2 === 0));
  await writer.flush();
  await first.close();
  const second = await openWith([], dataDir);
  const { rows } = await second.query(
    "SELECT count(*), sum(stakes), count(*) FILTER (effective = 'deny') FROM decisions",
    LIMITS,
  );
  expect(rows).toEqual([[5000, (4999 * 5000) / 2, 2500]]);
});

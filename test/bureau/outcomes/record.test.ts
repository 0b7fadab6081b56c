// Outcomes through the real ledger thread: what is refused, what is recorded, what a repeat gets.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Bureau, OutcomeContext } from "../../../src/bureau/bureau.ts";
import { openBureau } from "../../../src/bureau/open.ts";
import {
  buildRecordOrFault,
  findSignerVoice,
  selectOutcomeSender,
} from "../../../src/bureau/outcomes/record.ts";
import { KeyRegistry } from "../../../src/bureau/reporters/key-registry.ts";
import { hashTenantToVoice } from "../../../src/contract/voices.ts";
import { GRADES } from "../../../src/contract/vocabulary.ts";
import { DEFAULT_POLICY } from "../../../src/contract/policy.ts";
import { createActivePolicy, type PolicySource } from "../../../src/policy/active-policy.ts";
import { ServiceFault } from "../../../src/contract/faults.ts";
import type { OutcomeReceipt, OutcomeRequest } from "../../../src/contract/schemas/outcomes.ts";
import { createEngineMemory } from "../../../src/engine/memory.ts";
import { openEngineReader } from "../../../src/engine/reader.ts";
import { startLedger } from "../../../src/ledger/client.ts";
import type { OpenLedger } from "../../../src/ledger/client.ts";
import { call, principal } from "../_harness.ts";
import { UuidV7Generator } from "../../../src/platform/uuid.ts";

const DAY_MS = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), "trustrank-bureau-"));
let nowMs = Date.UTC(2026, 5, 1);
let ledger: OpenLedger;
let bureau: Bureau;

beforeAll(async () => {
  const engineMemory = createEngineMemory();
  ledger = await startLedger({
    dataDir: folder,
    engineMemory,
    onFatal: (code) => {
      throw new Error(`ledger ended with ${code}`);
    },
    clock: () => nowMs,
  });
  let byte = 0;
  bureau = openBureau({
    engine: openEngineReader(engineMemory, 1),
    ledger,
    clock: () => nowMs,
    environment: {
      delay: () => Promise.resolve(),
      outcomeIds: new UuidV7Generator((bytes) => {
        for (let i = 0; i < bytes.length; i += 1) bytes[i] = (byte = (byte * 5 + 17) & 255) ^ i;
      }),
      isReservedEnabled: true,
    },
  });
});

afterAll(async () => {
  await ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

let next = 0;

function outcome(more: Partial<OutcomeRequest> = {}): OutcomeRequest {
  next += 1;
  return {
    subject: `agent://a/subject-${next}`,
    reporter: `agent://b/reporter-${next}`,
    outcome: 1,
    stakes: 5,
    grade: "counterparty",
    ...more,
  };
}

function record(
  request: OutcomeRequest,
  context: Partial<OutcomeContext> = {},
): Promise<OutcomeReceipt> {
  const body = Buffer.from(JSON.stringify(request));
  const from = { ...call, body, idempotencyKey: undefined, traceparent: undefined, ...context };
  return bureau.recordOutcome(request, from);
}

const senderSources = {
  policies: {
    findActivePolicy: () => createActivePolicy(DEFAULT_POLICY),
    findPolicyVersion: () => undefined,
  },
  engine: { areStandingsInForce: false },
};

describe("recorded outcomes", () => {
  it("get a receipt once they are folded", async () => {
    const request = outcome({ settled_at: nowMs - DAY_MS });
    const receipt = await record(request);
    expect(receipt).toEqual({
      outcome_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      position: ledger.position(),
      recorded_at: new Date(nowMs).toISOString(),
      duplicate: false,
      signature: "none",
    });
    const explanation = bureau.explainScore(request.subject, call);
    expect(explanation.evidence).toMatchObject({
      outcomes: 1,
      last_outcome_at: new Date(nowMs - DAY_MS).toISOString(),
    });
  });

  it("are stored but not folded when the tool failed, not the agent", async () => {
    const request = outcome({ outcome: 0, agent_fault: false });
    const before = ledger.position();
    await record(request);
    expect(ledger.position()).toBe(before + 1);
    expect(bureau.explainScore(request.subject, call).known).toBe(false);
  });

  it("count as one hour's where failures name one incident of their tenant", async () => {
    const subject = "agent://a/outage";
    for (let i = 0; i < 3; i++) await record(outcome({ subject }));
    const failed = { subject, outcome: 0, incident_id: "outage-7", grade: "onchain" } as const;
    const weigh = { principal: { ...call.principal, isFirstParty: true } };
    for (let i = 0; i < 5; i++) {
      await record(outcome({ ...failed, settled_at: nowMs - i * 7_200_000 }), weigh);
    }
    const { evidence } = bureau.explainScore(subject, call);
    expect(evidence.incidents_capped).toBe(1);
    expect(evidence.outcomes).toBe(8);
    expect(evidence.last_heard_at).toBe(new Date(nowMs).toISOString());
  });

  it.each(["onchain", "escrow", "mediator"] as const)(
    "weigh as `counterparty` where nothing proves `%s`, signed or not, save by the operator's word",
    async (grade) => {
      const request = outcome({ grade });
      const weigh = (isFirstParty: boolean) =>
        buildRecordOrFault(
          { outcomeIds: new UuidV7Generator((bytes) => void bytes.fill(7)) },
          request,
          selectOutcomeSender({ ...call.principal, isFirstParty }, senderSources),
          nowMs,
        );
      const claimedGradeIndex = GRADES.indexOf(grade);
      const weighed = { gradeIndex: GRADES.indexOf("counterparty"), claimedGradeIndex };
      expect(weigh(false)).toMatchObject(weighed);
      const trusted = weigh(true);
      expect(trusted).toMatchObject({ gradeIndex: claimedGradeIndex });
      expect(trusted).not.toHaveProperty("claimedGradeIndex");
      const ordinary = { principal: { ...call.principal, isFirstParty: false } };
      expect(await record(request, ordinary)).toMatchObject({ claimed_grade: grade });
    },
  );

  it("keep an imported grade, whichever key imports", async () => {
    const key = { ...call, principal: { ...call.principal, isFirstParty: false } };
    const subject = "agent://a/imported-grade";
    const [receipt] = await bureau.importOutcomes(
      [outcome({ subject, grade: "onchain" })],
      "import:f",
      key,
    );
    expect(receipt).not.toHaveProperty("claimed_grade");
    // An import is fully signed: grade 1 at stakes of 5.
    const onchain = bureau.explainScore(subject, call).evidence.successes_90d;
    const other = "agent://a/imported-counterparty";
    await bureau.importOutcomes([outcome({ subject: other })], "import:f", key);
    const counterparty = bureau.explainScore(other, call).evidence.successes_90d;
    expect(counterparty / onchain).toBeCloseTo(0.6, 5);
  });

  it("are refused outside the window of time", async () => {
    await expect(record(outcome({ settled_at: nowMs + 60_000 }))).resolves.toBeDefined();
    await expect(record(outcome({ settled_at: nowMs - 7 * DAY_MS }))).resolves.toBeDefined();
    await expect(record(outcome({ settled_at: nowMs + 60_001 }))).rejects.toMatchObject({
      code: "outcome_in_future",
      errors: [{ pointer: "/settled_at" }],
    });
    await expect(record(outcome({ settled_at: nowMs - 7 * DAY_MS - 1 }))).rejects.toMatchObject({
      code: "outcome_too_old",
    });
  });

  it("are refused from an agent about itself and about reserved agents", async () => {
    const before = ledger.position();
    const self = { subject: "agent://a/self", reporter: "agent://a/self" };
    await expect(record(outcome(self))).rejects.toMatchObject({ code: "self_report" });
    const reserved = "agent://test/connect";
    for (const party of [{ subject: reserved }, { reporter: reserved }]) {
      await expect(record(outcome(party))).rejects.toMatchObject({ code: "reserved_agent" });
    }
    expect(ledger.position()).toBe(before);
  });
});

describe("stakes", () => {
  const source = (unit?: number): PolicySource => {
    const policy = unit === undefined ? DEFAULT_POLICY : { ...DEFAULT_POLICY, stakes: { unit } };
    const active = createActivePolicy(policy);
    return { findActivePolicy: () => active, findPolicyVersion: () => undefined };
  };
  const recorded = (unit?: number) => {
    const sender = selectOutcomeSender(call.principal, {
      policies: source(unit),
      engine: { areStandingsInForce: false },
    });
    return buildRecordOrFault({ outcomeIds: { next: () => "" } }, outcome(), sender, nowMs);
  };

  it("are journaled in the unit of account, beside what was reported in another", () => {
    expect(recorded(0.01)).toMatchObject({ stakes: 0.05, reportedStakes: 5 });
    for (const unit of [undefined, 1]) {
      expect(recorded(unit)).toMatchObject({ stakes: 5 });
      expect(recorded(unit)).not.toHaveProperty("reportedStakes");
    }
  });
});

describe("the voice of a signed outcome", () => {
  const registry = new KeyRegistry();
  const at = { at_ms: 0, keeps_keys: false, by: "admin" };
  const event = "namespace.granted";
  registry.apply({ event, namespace: "plain", tenant: "acme", ...at });
  registry.apply({ event, namespace: "friends", tenant: "globex", vouched: true, ...at });
  const voiceOf = (reporter: string, areStandingsInForce = false) =>
    findSignerVoice(registry, reporter, { voice: 42, areStandingsInForce });

  it("is its owner's tenant unless it is vouched for, and the sender's without an owner", () => {
    expect(voiceOf("agent://plain/r")).toBe(hashTenantToVoice("acme"));
    expect(voiceOf("agent://friends/r")).toBeUndefined();
    expect(voiceOf("agent://nobody/r")).toBe(42);
  });

  it("is the reporter's while standings are in force", () => {
    for (const namespace of ["plain", "friends", "nobody"]) {
      expect(voiceOf(`agent://${namespace}/r`, true)).toBeUndefined();
    }
  });

  it("is the new owner's after a transfer, which nobody vouches for", () => {
    registry.apply({
      ...at,
      event: "namespace.transferred",
      namespace: "friends",
      tenant: "hooli",
    });
    expect(voiceOf("agent://friends/r")).toBe(hashTenantToVoice("hooli"));
  });
});

describe("repeats", () => {
  it("get the first receipt by `id`, whichever key of the tenant sends them", async () => {
    const request = outcome({ id: "settlement-1" });
    const first = await record(request);
    nowMs += 1000;
    const again = await record(request, { principal: { ...principal, keyId: "key-2" } });
    expect(again).toEqual({ ...first, duplicate: true });
    await expect(record({ ...request, outcome: 0 })).rejects.toMatchObject({
      code: "idempotency_conflict",
    });
  });

  it("are told apart by tenant and by reporter", async () => {
    const request = outcome({ id: "settlement-2" });
    await record(request);
    const other = await record(request, { principal: { ...principal, tenant: "globex" } });
    expect(other.duplicate).toBe(false);
    expect((await record({ ...request, reporter: "agent://c/c" })).duplicate).toBe(false);
  });

  it("get the first receipt by header, within one API key", async () => {
    const request = outcome();
    const first = await record(request, { idempotencyKey: "attempt-1" });
    expect(await record(request, { idempotencyKey: "attempt-1" })).toEqual({
      ...first,
      duplicate: true,
    });
    const byOther = { ...principal, keyId: "key-2" };
    const other = await record(request, { idempotencyKey: "attempt-1", principal: byOther });
    expect(other.duplicate).toBe(false);
  });

  it("are different outcomes without an identity", async () => {
    const request = outcome();
    await record(request);
    expect((await record(request)).duplicate).toBe(false);
  });
});

describe("imported outcomes", () => {
  it("may be old, are signed by the bureau, and fail one by one", async () => {
    const old = outcome({ settled_at: nowMs - 400 * DAY_MS, id: "row-1" });
    const rows = [
      old,
      outcome({ subject: "agent://a/self", reporter: "agent://a/self" }),
      outcome({ settled_at: nowMs + DAY_MS }),
      { ...old, stakes: 6 },
      outcome({ id: "row-2" }),
    ];
    const results = await bureau.importOutcomes(rows, "import:file", call);
    const codes = results.map((each) => (each instanceof ServiceFault ? each.code : "taken"));
    expect(codes).toEqual([
      "taken",
      "self_report",
      "outcome_in_future",
      "idempotency_conflict",
      "taken",
    ]);
    expect(results[0]).toMatchObject({ signature: "bureau", duplicate: false });
    expect(bureau.explainScore(old.subject, call).known).toBe(true);
    const again = await bureau.importOutcomes([old], "import:file", call);
    expect(again).toEqual([{ ...(results[0] as OutcomeReceipt), duplicate: true }]);
  });

  it("count for the tenant that an administrator names, and as its own report where it says so", async () => {
    const subjects = ["agent://a/of-operator", "agent://a/of-globex", "agent://a/of-globex-alone"];
    const [own, named, alone] = subjects.map((subject) => outcome({ subject, grade: "onchain" }));
    const rows = [
      own!,
      { ...named!, tenant: "globex" },
      { ...alone!, tenant: "globex", first_party: false },
    ];
    const results = await bureau.importOutcomes(rows, "import:file", call);
    expect(results.map((each) => (each instanceof ServiceFault ? each.code : "taken"))).toEqual([
      "taken",
      "taken",
      "taken",
    ]);
    const weights = subjects.map((each) => bureau.explainScore(each, call).evidence.successes_90d);
    expect(weights[1]).toBe(weights[0]);
    // As an unsigned report of a tenant that nobody vouches for: what it claims proves nothing.
    expect(results[2]).toMatchObject({ claimed_grade: "onchain", signature: "bureau" });
    const reported = "agent://a/reported-by-globex";
    const voice = hashTenantToVoice("globex");
    const globex = { ...principal, tenant: "globex", voice, isFirstParty: false };
    await record(outcome({ subject: reported, grade: "onchain" }), { ...call, principal: globex });
    expect(weights[2]).toBe(bureau.explainScore(reported, call).evidence.successes_90d);
    expect(weights[2]).toBeLessThan(weights[0]! / 2);
  });

  it("refuse rows that say who reported, unless an administrator sends them", async () => {
    const key = { ...call, principal: { ...call.principal, scopes: new Set<never>() } };
    const rows = [
      { ...outcome({ subject: "agent://a/x1" }), tenant: "globex" },
      { ...outcome({ subject: "agent://a/x2" }), first_party: false },
      outcome({ subject: "agent://a/x3" }),
    ];
    const results = await bureau.importOutcomes(rows, "import:file", key);
    const found = results.map((each) =>
      each instanceof ServiceFault ? [each.code, each.errors[0]!.pointer] : "taken",
    );
    expect(found).toEqual([
      ["insufficient_scope", "/tenant"],
      ["insufficient_scope", "/first_party"],
      "taken",
    ]);
  });

  it("reject as a whole when the journal takes nothing", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "trustrank-closed-"));
    const engineMemory = createEngineMemory();
    const closed = await startLedger({
      dataDir: elsewhere,
      engineMemory,
      onFatal: () => undefined,
      clock: () => nowMs,
    });
    await closed.close();
    const over = openBureau({
      engine: openEngineReader(engineMemory, 1),
      ledger: closed,
      clock: () => nowMs,
      environment: {
        delay: () => Promise.resolve(),
        outcomeIds: new UuidV7Generator(() => undefined),
        isReservedEnabled: false,
      },
    });
    await expect(over.importOutcomes([outcome()], "import:file", call)).rejects.toMatchObject({
      code: "journal_unavailable",
    });
    rmSync(elsewhere, { recursive: true, force: true });
  });
});

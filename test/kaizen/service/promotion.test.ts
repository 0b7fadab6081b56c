// Promotion of a dry run by a person: a real run that passes every gate is made live as it was tested,
// and nothing else is: no failed gate, no other champion, no older test, no pause is got around.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { createGateResult, GATE_POLICY } from "../../../src/kaizen/gates/register.ts";
import type { RunRecord } from "../../../src/kaizen/kaizen.ts";
import type { KaizenOptions } from "../../../src/kaizen/service/options.ts";
import { computeConfigVersion } from "../../../src/kaizen/service/files.ts";
import type { KaizenResult } from "../../../src/kaizen/service/worker-pool.ts";
import { ASKED, NOW_MS, openStage, outcomesOf, winning } from "../_service.ts";
import type { Stage } from "../_service.ts";

const DAY_MS = 86_400_000;
const SHIPPED = computeConfigVersion(loadDefaultConfig());
const ORDER = { by: "k3yid00001", reason: "looked at with the team" };
const DRY = { ...ASKED, isDryRun: true };
let stage: Stage | undefined;

async function close(): Promise<void> {
  await stage?.kaizen.close();
  await stage?.ledger.close();
  stage = undefined;
}

describe("a real dry run that passed every gate", () => {
  let run: RunRecord;

  beforeAll(async () => {
    stage = await openStage();
    await stage.ledger.appendBatch(outcomesOf(1, 6000, NOW_MS, 1.5));
    run = await stage.kaizen.start({ ...DRY, isSignedOff: true, holdoutDays: 120 })!.done;
  }, 120_000);
  afterAll(close);

  it("gives its numbers: bounds that agree with the verdicts, slices, bins and weights", () => {
    expect(run.reason).toMatch(/^all gates passed/);
    const { sides } = stage!.kaizen.numbers(run)!;
    expect(sides.map(({ side }) => side)).toEqual(["check", "handshake"]);
    for (const { gates, slices, reliability, weights } of sides) {
      expect(gates.map(({ id }) => id)).toEqual(Array.from({ length: 11 }, (_, i) => `G${i + 1}`));
      const g2 = gates.find(({ id }) => id === "G2")!;
      expect(g2.measures.map(({ name, is_within }) => [name, is_within])).toEqual([
        ["z", true],
        ["relative_gain", true],
      ]);
      expect(g2.intervals[0]!.low).toBeGreaterThan(0);
      const all = slices.find(({ name }) => name === "all")!;
      expect(all.rows).toBe(gates[0]!.measures.find(({ name }) => name === "rows")!.value);
      expect(all.z).toBeGreaterThan(0);
      expect(slices.some(({ seen }) => seen !== undefined)).toBe(true);
      expect(reliability!.challenger).toHaveLength(10);
      for (const { low, high, observed } of reliability!.challenger) {
        expect(low).toBeLessThanOrEqual(observed);
        expect(high).toBeGreaterThanOrEqual(observed);
      }
      expect(weights!.some(({ champion, challenger }) => champion !== challenger)).toBe(true);
    }
  });

  it("is made live as it was tested, with who asked and why, and its evidence is spent", async () => {
    const { kaizen, engine } = stage!;
    expect(await kaizen.promote("k-20260101-000000000", ORDER)).toBeUndefined();
    const promoted = (await kaizen.promote(run.run_id, ORDER))!;
    expect(promoted).toMatchObject({ state: "promoted", promotion: ORDER });
    expect(engine.activeConfigVersion).toBe(run.challenger_version);
    expect(kaizen.status()).toMatchObject({ promoted_by: run.run_id });
    expect(kaizen.runs()[0]).toMatchObject({ state: "promoted", promotion: ORDER });
    await expect(kaizen.promote(run.run_id, ORDER)).rejects.toMatchObject({
      code: "run_not_promotable",
      detail: "the run has been promoted already",
    });
    const after = await kaizen.start(DRY)!.done;
    expect(after.reason).toMatch(/no settled outcomes since the last test/);
  });

  it("stays live over a restart, and is taken back like any other", async () => {
    const { dataDir } = stage!;
    await close();
    stage = await openStage(dataDir);
    expect(stage.engine.activeConfigVersion).toBe(run.challenger_version);
    await stage.kaizen.rollback("worse");
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
    const found = stage.kaizen.find(run.run_id)!;
    expect(found).toMatchObject({ promotion: ORDER, rolled_back: { reason: "worse" } });
  });
});

/** Findings as a run that passed has them, with `changed` members. */
function passing(changed: Partial<KaizenResult["findings"]> = {}): KaizenResult {
  const { findings, ...given } = winning();
  const { config } = findings;
  const gate = createGateResult("G1", { passed: true, numbers: {}, sentence: "enough" });
  const side = {
    side: "check" as const,
    passed: true,
    reason: "all gates passed",
    rows: { training: 1, holdout: 1, without_stakes: 0 },
    holdout_from_ms: NOW_MS - 30 * DAY_MS,
    holdout_to_ms: NOW_MS,
    gates: [gate],
    champion: loadDefaultConfig().check,
    challenger: config!.check,
  };
  return { ...given, findings: { ...findings, sides: [side], policy: GATE_POLICY, ...changed } };
}

describe("a dry run that may not be promoted", () => {
  afterEach(close);

  let nowMs = NOW_MS;
  async function open(...results: KaizenResult[]): Promise<Stage> {
    nowMs = NOW_MS;
    const options: Partial<KaizenOptions> = {
      runTask: () => Promise.resolve(results.length > 1 ? results.shift()! : results[0]!),
      clock: () => (nowMs += 1000),
    };
    stage = await openStage(undefined, options);
    return stage;
  }

  const failed = () => {
    const { findings, ...given } = passing();
    const gates = [{ ...findings.sides[0]!.gates[0]!, passed: false }];
    return { ...given, findings: { ...findings, sides: [{ ...findings.sides[0]!, gates }] } };
  };
  const kept = () => {
    const { findings, ...given } = passing();
    const { config: _, ...rest } = findings;
    return { ...given, findings: { ...rest, reason: "G2 superiority: no gain" } };
  };
  const other = () => {
    const { findings, ...given } = passing();
    const { config } = findings;
    return {
      ...given,
      findings: { ...findings, config: { ...config!, check: loadDefaultConfig().check } },
    };
  };

  it.each([
    ["a failed gate beside weights", failed(), /a gate has not passed/],
    ["no weights to make live", kept(), /a gate has not passed: G2/],
    ["other weights than those tested", other(), /a gate has not passed/],
    ["no gates at all", passing({ sides: [] }), /a gate has not passed/],
    ["older gates", passing({ policy: { ...GATE_POLICY, z_min: 1 } }), /gates ask for something/],
  ])("because it has %s", async (_, result, detail) => {
    const { kaizen, engine } = await open(result);
    const run = await kaizen.start(DRY)!.done;
    const fault = { code: "run_not_promotable", detail: expect.stringMatching(detail) };
    await expect(kaizen.promote(run.run_id, ORDER)).rejects.toMatchObject(fault);
    expect(engine.activeConfigVersion).toBe(SHIPPED);
  });

  it("because it was no dry run, or one as of an earlier time", async () => {
    const { kaizen } = await open(kept());
    const real = await kaizen.start(ASKED)!.done;
    const then = await kaizen.start({ ...DRY, asOfMs: NOW_MS - DAY_MS })!.done;
    await expect(kaizen.promote(real.run_id, ORDER)).rejects.toThrow(/only a finished dry run/);
    await expect(kaizen.promote(then.run_id, ORDER)).rejects.toThrow(/as of an earlier time/);
  });

  it("because other weights are live by now", async () => {
    const { kaizen } = await open(passing());
    const dry = await kaizen.start(DRY)!.done;
    await kaizen.start(ASKED)!.done;
    await expect(kaizen.promote(dry.run_id, ORDER)).rejects.toMatchObject({
      code: "champion_changed",
    });
  });

  it("because a rollback asks for a pause", async () => {
    const { kaizen, engine } = await open(passing());
    await kaizen.start(ASKED)!.done;
    await kaizen.rollback("a test");
    const dry = await kaizen.start(DRY)!.done;
    await expect(kaizen.promote(dry.run_id, ORDER)).rejects.toThrow(/a pause of 2 more runs/);
    expect(engine.activeConfigVersion).toBe(SHIPPED);
  });

  it("because a later run has tested newer evidence, with whatever result", async () => {
    const { kaizen } = await open(passing(), kept());
    const dry = await kaizen.start(DRY)!.done;
    const later = await kaizen.start(DRY)!.done;
    await expect(kaizen.promote(dry.run_id, ORDER)).rejects.toThrow(
      `run ${later.run_id} has tested newer evidence`,
    );
  });

  it("because it is more than a week old, or a run is under way", async () => {
    const { kaizen } = await open(passing());
    const dry = await kaizen.start(DRY)!.done;
    const under = kaizen.start(DRY)!;
    await expect(kaizen.promote(dry.run_id, ORDER)).rejects.toThrow(/under way/);
    const last = await under.done;
    nowMs += 8 * DAY_MS;
    await expect(kaizen.promote(last.run_id, ORDER)).rejects.toThrow(/more than 7 days ago/);
  });

  it("twice at once: one of the two is refused, and one promotion stands", async () => {
    const { kaizen } = await open(passing());
    const { run_id: id } = await kaizen.start(DRY)!.done;
    const both = await Promise.allSettled([kaizen.promote(id, ORDER), kaizen.promote(id, ORDER)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await kaizen.rollback("a test");
    expect(await kaizen.rollback("nothing left")).toBeUndefined();
  });
});

// Kaizen in a service: a real ledger, a real pool thread, real files. What is promoted is what the
// next request is answered by; whatever breaks in between leaves the champion.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { computeConfigVersion } from "../../../src/kaizen/service/files.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import { ASKED, NOW_MS, openStage, outcomesOf, winning } from "../_service.ts";
import type { Stage } from "../_service.ts";

/** Enough for every gate to have something to look at. */
const ROWS = 4000;
const SHIPPED = computeConfigVersion(loadDefaultConfig());
let outcomes: OutcomeRecord[];
let stage: Stage | undefined;

beforeAll(() => {
  outcomes = outcomesOf(1, ROWS);
});
afterEach(async () => {
  await stage?.kaizen.close();
  await stage?.ledger.close();
  stage = undefined;
});

describe("a run in the service", () => {
  it("replays, fits, tests and reports; a dry run changes nothing", async () => {
    stage = await openStage();
    await stage.ledger.appendBatch(outcomes);
    const started = stage.kaizen.start({ ...ASKED, isDryRun: true })!;
    expect(stage.kaizen.start(ASKED)).toBeUndefined();
    const run = await started.done;
    expect(run.state).toBe("dry_run");
    expect(run.rows).toBe(ROWS);
    const ids = run.findings!.sides.map((side) => side.gates.map((gate) => gate.id));
    for (const found of ids) expect(found).toContain("G9");
    const [states, slices] = ["G6", "G10"].map((id) =>
      run.findings!.sides[0]!.gates.find((gate) => gate.id === id),
    );
    expect(states!.numbers).toMatchObject({ states: 10_000, failure_helps: 0 });
    expect(slices!.sentence).toMatch(/looked at: all/);
    const recent = run.findings!.recent!.map(({ side, champion }) => [side, champion.rows]);
    expect(recent).toEqual([
      ["check", 1000],
      ["handshake", 1000],
    ]);
    const { logLoss } = stage.kaizen.measured.figures().sides[0]!;
    expect(logLoss).toBe(run.findings!.recent![0]!.champion.log_loss);
    expect(logLoss).toBeGreaterThan(0);
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
    const page = stage.kaizen.report(run.run_id)!;
    expect(page).toContain("<svg");
    expect(page).not.toMatch(/<script|https?:/);
  });

  it("learns from the named kinds only, and its record and page say which", async () => {
    stage = await openStage(undefined, { evidenceKinds: ["reporter"] });
    await stage.ledger.appendBatch(outcomes);
    const run = await stage.kaizen.start({ ...ASKED, holdoutDays: 60 })!.done;
    expect(run).toMatchObject({
      state: "kept",
      rows: 0,
      evidence_kinds: ["reporter"],
      rows_by_kind: { reporter: 0, bureau: 0, import: 0 },
    });
    expect(run.findings!.sides.map(({ rows }) => rows.training + rows.holdout)).toEqual([0, 0]);
    expect(stage.kaizen.report(run.run_id)).toContain("; left out: bureau, import</td>");
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
  });

  it("learns from a sample where there is more than it may hold, and says of how much", async () => {
    stage = await openStage(undefined, { rowsMax: 1000 });
    await stage.ledger.appendBatch(outcomes);
    const run = await stage.kaizen.start({ ...ASKED, isDryRun: true, holdoutDays: 60 })!.done;
    expect(run.state).toBe("dry_run");
    expect(run.rows_of).toBe(ROWS);
    expect(run.evidence_kinds).toEqual(["reporter", "bureau", "import"]);
    expect(run.rows_by_kind).toEqual({ reporter: 0, bureau: 0, import: run.rows });
    expect(stage.kaizen.report(run.run_id)).toContain(
      `${run.rows.toLocaleString("en-US")} by an import</td>`,
    );
    expect(Math.abs(run.rows - 1000)).toBeLessThan(160);
    for (const { rows } of run.findings!.sides) {
      // Sixty days of 365, and as many rows as the other three hundred.
      expect(Math.abs(rows.holdout - 500)).toBeLessThan(110);
      expect(rows.holdout + rows.training).toBe(run.rows);
    }
    expect(stage.kaizen.report(run.run_id)).toMatch(
      new RegExp(
        `${run.rows.toLocaleString("en-US")} outcomes of all tenants together, a random sample of ${ROWS.toLocaleString("en-US")},`,
      ),
    );
  });

  it("says why when there is nothing to learn from", async () => {
    stage = await openStage();
    const run = await stage.kaizen.start(ASKED)!.done;
    expect(run.state).toBe("kept");
    expect(run.reason).toMatch(/no settled outcomes/);
  });

  it("gives the same findings twice", async () => {
    stage = await openStage();
    await stage.ledger.appendBatch(outcomes.slice(0, 2000));
    const request = { ...ASKED, isDryRun: true, holdoutDays: 365 };
    const first = await stage.kaizen.start(request)!.done;
    const second = await stage.kaizen.start(request)!.done;
    const gatesOf = (run: typeof first) => run.findings!.sides.map((side) => side.gates);
    expect(gatesOf(second)).toEqual(gatesOf(first));
  });
});

describe("promotion and rollback", () => {
  it("serves the promoted config with the next read, until rolled back", async () => {
    stage = await openStage(undefined, { runTask: () => Promise.resolve(winning()) });
    const run = await stage.kaizen.start(ASKED)!.done;
    expect(run.state).toBe("promoted");
    const promoted = run.challenger_version!;
    expect(stage.engine.activeConfigVersion).toBe(promoted);
    const reading = stage.engine.check("agent://made/1", 1, NOW_MS);
    expect(stage.engine.findConfigVersion(reading.configNumber)).toBe(promoted);
    await stage.kaizen.close();
    await stage.ledger.close();
    stage = await openStage(stage.dataDir);
    expect(stage.engine.activeConfigVersion).toBe(promoted);
    expect(await stage.kaizen.rollback("a test")).toEqual({
      config_version: SHIPPED,
      run_id: run.run_id,
    });
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
    expect(stage.kaizen.find(run.run_id)!.rolled_back!.reason).toBe("a test");
    expect(await stage.kaizen.rollback("again")).toBeUndefined();
  });

  it("cools down after a rollback: two runs only test", async () => {
    stage = await openStage(undefined, { runTask: () => Promise.resolve(winning()) });
    await stage.kaizen.start(ASKED)!.done;
    await stage.kaizen.rollback("a test");
    const states: string[] = [];
    for (let i = 0; i < 3; i++) states.push((await stage.kaizen.start(ASKED)!.done).state);
    expect(states).toEqual(["kept", "kept", "promoted"]);
  });

  it("takes a promotion back when the watch says so", async () => {
    const watch = [
      { side: "check" as const, isRollbackDue: true, numbers: {}, sentence: "log-loss rose" },
    ];
    const results = [winning(), { ...winning(), watch }];
    stage = await openStage(undefined, { runTask: () => Promise.resolve(results.shift()!) });
    await stage.kaizen.start(ASKED)!.done;
    await stage.kaizen.watch();
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
    expect(stage.kaizen.runs()[0]!.rolled_back!.reason).toBe("check: log-loss rose");
    const { watch: seen } = stage.kaizen.find(stage.kaizen.runs()[0]!.run_id)!;
    expect(seen!.sides).toEqual([
      { side: "check", rollback_due: true, numbers: {}, sentence: "log-loss rose" },
    ]);
  });
});

/** Outcomes in which the past tells the future without an error. */
function separable(): OutcomeRecord[] {
  return outcomes.map((outcome) => {
    const isBad = Number(outcome.subject.split("/").at(-1)) % 5 === 0;
    return { ...outcome, outcome: isBad ? 0 : 1 };
  });
}

describe("evidence that teaches nothing", () => {
  const asked = { ...ASKED, isSignedOff: true, holdoutDays: 180 };

  it.each([
    ["is separable", () => separable(), /the fit broke|G6 monotone|G4 calibration|G9 attacks/],
    ["is one constant", () => outcomes.map((o) => ({ ...o, outcome: 1 as const })), /0 failures/],
    ["is too little", () => outcomes.slice(-200), /insufficient evidence: 200 rows/],
    [
      "is unsigned",
      () => outcomes.map((o) => ({ ...o, signature: "none" as const })),
      /no settled/,
    ],
  ])("keeps the champion with a reason when it %s", async (_, evidence, reason) => {
    stage = await openStage();
    await stage.ledger.appendBatch(evidence());
    const run = await stage.kaizen.start(asked)!.done;
    expect(run.state).toBe("kept");
    expect(run.reason).toMatch(reason);
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
  });
});

describe("whatever breaks", () => {
  it("ends with the service: a run under way is broken off, nothing waits for it", async () => {
    stage = await openStage();
    await stage.ledger.appendBatch(outcomes);
    const { done, id } = stage.kaizen.start(ASKED)!;
    await new Promise((resolve) => setTimeout(resolve, 150));
    await stage.kaizen.close();
    expect((await done).state).toBe("failed");
    expect(stage.kaizen.find(id)!.reason).toMatch(/champion stays/);
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
  });

  it("keeps the champion when the run throws", async () => {
    const broken = () => Promise.reject(new Error("out of memory"));
    stage = await openStage(undefined, { runTask: broken });
    const run = await stage.kaizen.start(ASKED)!.done;
    expect(run.state).toBe("failed");
    expect(run.reason).toMatch(/champion stays: out of memory/);
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
    expect(stage.kaizen.start(ASKED)).toBeDefined();
  });

  it("keeps the champion when the engine would refuse the config", async () => {
    const result = winning();
    result.findings.config!.check.mean = -1;
    stage = await openStage(undefined, { runTask: () => Promise.resolve(result) });
    const run = await stage.kaizen.start(ASKED)!.done;
    expect(run.state).toBe("failed");
    expect(run.reason).toMatch(/mean and viewer/);
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
  });

  it("keeps the champion through a crash at every step of a promotion", async () => {
    for (const step of ["appendConfig", "installConfig"] as const) {
      const opened = await openStage();
      const ledger = {
        position: () => 0,
        appendConfig: () => Promise.resolve(1),
        installConfig: () => Promise.resolve(),
        [step]: () => Promise.reject(new Error("cut off")),
      };
      const { dataDir } = opened;
      await opened.ledger.close();
      const cut = await openStage(dataDir, {
        ledger,
        runTask: () => Promise.resolve(winning()),
      });
      const run = await cut.kaizen.start(ASKED)!.done;
      expect(run.state, step).toBe("failed");
      await cut.ledger.close();
      stage = await openStage(dataDir);
      expect(stage.engine.activeConfigVersion, step).toBe(SHIPPED);
      expect(stage.kaizen.runs()[0]!.state).toBe("failed");
      await stage.ledger.close();
      stage = undefined;
    }
  });

  it("refuses a config file that was changed", async () => {
    stage = await openStage(undefined, { runTask: () => Promise.resolve(winning()) });
    const { challenger_version: version } = await stage.kaizen.start(ASKED)!.done;
    const path = join(stage.dataDir, "kaizen", "configs", `${version}.json`);
    writeFileSync(path, readFileSync(path, "utf8").replace("-0.25", "-9.25"));
    await stage.ledger.close();
    const { dataDir } = stage;
    stage = undefined;
    await expect(openStage(dataDir)).rejects.toThrow(/was changed/);
  });
});

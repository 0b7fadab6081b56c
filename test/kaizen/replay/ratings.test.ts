// Ratings carry their outcome in their stakes. What was not known before the outcome is no feature:
// kaizen must not learn from ratings what stakes say, and learns all else.
import { afterEach, describe, expect, it } from "vitest";
import { FEATURES } from "../../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { replayJournal } from "../../../src/kaizen/replay/evidence.ts";
import type { RunRecord } from "../../../src/kaizen/kaizen.ts";
import { challengeBothScorecards } from "../../../src/kaizen/run.ts";
import { renderRunReportPage } from "../../../src/kaizen/report/run-page.ts";
import { COLUMN_COUNT } from "../../../src/kaizen/model/scorecard.ts";
import type { ScorecardRows } from "../../../src/kaizen/model/scorecard.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import { NOW_MS, openStage, outcomesOf } from "../_service.ts";
import type { Stage } from "../_service.ts";

const NOVELTY = 4 + FEATURES.indexOf("stakes_novelty");
const opened: Stage[] = [];
const RUN: RunRecord = {
  run_id: "k-20260601-000000000",
  state: "dry_run",
  started_at: "2026-06-01T00:00:00.000Z",
  started_by: "test",
  champion_version: "c-0000000000000001",
  reason: "",
  rows: 3000,
  position: 0,
};

afterEach(async () => {
  for (const { kaizen, ledger } of opened.splice(0)) {
    await kaizen.close();
    await ledger.close();
  }
});

/** As people rate: angry words are mostly louder than kind ones. */
function rated(count: number, source: string): OutcomeRecord[] {
  return outcomesOf(1, count).map((each, i) => {
    const stakes = each.outcome === 1 ? 1 + (i % 8) : 4 + (i % 7);
    return { ...each, stakes, source };
  });
}

async function stageWith(outcomes: OutcomeRecord[]): Promise<Stage> {
  const stage = await openStage();
  opened.push(stage);
  await stage.ledger.appendBatch(outcomes);
  return stage;
}

function replayed({ dataDir, ledger }: Stage) {
  const { journal } = resolveDataPaths(dataDir);
  return replayJournal(journal, ledger.position(), loadDefaultConfig());
}

const noveltyOf = ({ values, count }: ScorecardRows) =>
  Array.from({ length: count }, (_, row) => values[row * COLUMN_COUNT + NOVELTY]!);

describe("stakes that come with the outcome", () => {
  it("are no feature of it, but stay evidence of what an agent has borne", async () => {
    const [imported, ratings] = [
      await stageWith(rated(400, "import:history.csv")),
      await stageWith(rated(400, "ratings:history.csv")),
    ];
    const [known, unknown] = [replayed(imported), replayed(ratings)];
    for (const side of ["check", "handshake"] as const) {
      expect(noveltyOf(known.evidence[side].rows).some((x) => x > 0)).toBe(true);
      expect(noveltyOf(unknown.evidence[side].rows).every((x) => x === 0)).toBe(true);
    }
    expect(Math.max(...unknown.evidence.check.context!.stakes)).toBe(0);
    const boundOf = ({ engine }: Stage) => engine.check("agent://made/1", 5, NOW_MS);
    expect(boundOf(ratings)).toEqual(boundOf(imported));
  });

  it("move no weight, and the run says of how many rows it could not learn that", async () => {
    const half = rated(3000, "ratings:history.csv").slice(1500);
    const [leaking, honest, mixed] = [
      await stageWith(rated(3000, "import:history.csv")),
      await stageWith(rated(3000, "ratings:history.csv")),
      await stageWith([...outcomesOf(1, 3000).slice(0, 1500), ...half]),
    ];
    const checkOf = (stage: Stage) => {
      const { evidence, lagMs } = replayed(stage);
      // Neither attacks nor random states: they judge what was learnt, and teach nothing.
      const findings = challengeBothScorecards(evidence, loadDefaultConfig(), {
        id: "k-20260601-000000000",
        nowMs: NOW_MS,
        holdoutDays: 120,
        isSignedOff: false,
        isPilot: true,
        testedToMs: { check: 0, handshake: 0 },
        gapMs: lagMs,
        isBrief: true,
      });
      const side = findings.sides.find((each) => each.side === "check")!;
      const page = renderRunReportPage({ ...RUN, findings, reason: findings.reason });
      return { page, rows: side.rows, learnt: side.challenger!.weights["stakes_novelty"] ?? 0 };
    };
    const [told, plain, both] = [checkOf(leaking), checkOf(honest), checkOf(mixed)];
    expect(told.learnt).toBeGreaterThan(0.3);
    expect(told.rows.without_stakes).toBe(0);
    expect(plain.learnt).toBe(0);
    expect(plain.rows.without_stakes).toBe(3000);
    // Where some stakes were known, theirs alone are looked at: chance, in this world.
    expect(both.learnt).toBeLessThan(0.2);
    expect(both.rows.without_stakes).toBe(1500);
    expect(plain.page).toContain("3,000 of all are ratings");
    expect(told.page).not.toContain("are ratings");
  });
});

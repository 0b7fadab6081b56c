// Ratings carry their outcome in their stakes. What was not known before the outcome is no feature:
// kaizen must not learn from ratings what stakes say, and learns all else.
import { afterEach, describe, expect, it } from "vitest";
import { FEATURES } from "../../../src/contract/vocabulary.ts";
import { defaultConfig } from "../../../src/engine/config.ts";
import { replayJournal } from "../../../src/kaizen/replay/evidence.ts";
import { reportPage } from "../../../src/kaizen/report/page.ts";
import { COLUMNS } from "../../../src/kaizen/model/scorecard.ts";
import type { ScorecardRows } from "../../../src/kaizen/model/scorecard.ts";
import { dataPaths } from "../../../src/journal/data-directory.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import { ASKED, NOW_MS, openStage, outcomesOf } from "../_service.ts";
import type { Stage } from "../_service.ts";

const NOVELTY = 4 + FEATURES.indexOf("stakes_novelty");
const opened: Stage[] = [];

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
  const { journal } = dataPaths(dataDir);
  return replayJournal(journal, ledger.position(), defaultConfig(), () => undefined);
}

const noveltyOf = ({ values, count }: ScorecardRows) =>
  Array.from({ length: count }, (_, row) => values[row * COLUMNS + NOVELTY]!);

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
    const request = { ...ASKED, isDryRun: true, holdoutDays: 120 };
    const checkOf = async (stage: Stage) => {
      const run = await stage.kaizen.start(request)!.done;
      const side = run.findings!.sides.find((each) => each.side === "check")!;
      return { run, rows: side.rows, learnt: side.challenger!.weights["stakes_novelty"] ?? 0 };
    };
    const [told, plain, both] = [
      await checkOf(leaking),
      await checkOf(honest),
      await checkOf(mixed),
    ];
    expect(told.learnt).toBeGreaterThan(0.5);
    expect(told.rows.without_stakes).toBe(0);
    expect(plain.learnt).toBe(0);
    expect(plain.rows.without_stakes).toBe(3000);
    // Where some stakes were known, theirs alone are looked at: chance, in this world.
    expect(both.learnt).toBeLessThan(0.2);
    expect(both.rows.without_stakes).toBe(1500);
    expect(reportPage(plain.run)).toContain("3000 of all are ratings");
    expect(reportPage(told.run)).not.toContain("are ratings");
  });
});

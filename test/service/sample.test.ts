// The sample: its files are what the generator writes, every line is taken, and a first start computes from
// them what the console's pages and a re-fit need.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sampleRequestText, sampleText } from "../../data/sample/generate.ts";
import type { DecisionEntry } from "../../src/contract/decisions.ts";
import { ServiceFault } from "../../src/contract/faults.ts";
import { VERDICTS } from "../../src/contract/vocabulary.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { resolveDataPaths } from "../../src/journal/data-directory.ts";
import { challengeBothScorecards } from "../../src/kaizen/run.ts";
import {
  openAttackJudge,
  playAttacksOnTable,
  probeInPrivateEngine,
} from "../../src/kaizen/replay/private-engines.ts";
import { replayJournal } from "../../src/kaizen/replay/evidence.ts";
import { openServiceCore, type ServiceCore } from "../../src/service/core.ts";
import { OPERATOR_CALL } from "../../src/service/import/local-sink.ts";
import { readOutcomes } from "../../src/service/import/read-outcomes.ts";
import { loadSample } from "../../src/service/sample.ts";

const pathOf = (file: string) =>
  fileURLToPath(new URL(`../../data/sample/${file}`, import.meta.url));
const NOW_MS = Date.parse("2026-11-26T12:00:00Z");

describe("sample history", () => {
  it("is what the generator writes", () => {
    expect(sampleText() === readFileSync(pathOf("outcomes.ndjson"), "utf8")).toBe(true);
    expect(sampleRequestText() === readFileSync(pathOf("requests.ndjson"), "utf8")).toBe(true);
  });

  it("holds about 5,000 outcomes of 60 to 80 agents over 120 days, in order of time", () => {
    const rows = [...readOutcomes(pathOf("outcomes.ndjson"), "ndjson", "")];
    expect(rows.filter((row) => row.outcome instanceof ServiceFault)).toEqual([]);
    const outcomes = rows.map(({ outcome }) => outcome as { settled_at: number; subject: string });
    const times = outcomes.map(({ settled_at: at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(Math.abs(rows.length - 5000)).toBeLessThan(200);
    expect((times.at(-1)! - times[0]!) / 86_400_000).toBeCloseTo(120, 0);
    const agents = new Set(outcomes.map(({ subject }) => subject)).size;
    expect(agents).toBeGreaterThanOrEqual(60);
    expect(agents).toBeLessThanOrEqual(80);
  });
});

describe("a loaded sample", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "trustrank-sample-"));
  const logged: Pick<DecisionEntry, "subject" | "verdictIndex" | "evaluatedAtMs">[] = [];
  let core: ServiceCore;

  beforeAll(async () => {
    const decisions = {
      admit: () => true,
      record: ({ subject, verdictIndex, evaluatedAtMs }: DecisionEntry) =>
        void logged.push({ subject, verdictIndex, evaluatedAtMs }),
    };
    const options = { dataDir, isReservedEnabled: false, onFatal: () => undefined };
    core = await openServiceCore({ ...options, decisions, clock: () => NOW_MS });
    await loadSample({ core, decisions }, NOW_MS);
  }, 60_000);

  afterAll(async () => {
    await core.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it("has decisions of each verdict over seven days, each at its own time", () => {
    const verdicts = new Set(logged.map(({ verdictIndex }) => VERDICTS[verdictIndex]));
    expect([...verdicts].filter((verdict) => verdict !== undefined).toSorted()).toEqual(
      VERDICTS.toSorted(),
    );
    const days = new Set(logged.map(({ evaluatedAtMs: at }) => Math.floor(at / 86_400_000)));
    expect(days.size).toBeGreaterThanOrEqual(7);
    expect(Math.max(...logged.map(({ evaluatedAtMs: at }) => at))).toBeLessThanOrEqual(NOW_MS);
  });

  it("has open, decided and disputed reviews", () => {
    const reviews = [...core.reviews.listReviews()];
    expect(reviews.filter(({ decision }) => decision === null).length).toBeGreaterThanOrEqual(5);
    const decided = reviews.map(({ decision }) => decision);
    expect(decided).toEqual(expect.arrayContaining(["upheld", "overturned"]));
    expect(reviews.filter(({ dispute }) => dispute !== undefined).length).toBe(2);
  });

  it("refuses an agent that failed 9 of 10 lately at every amount", () => {
    for (const stakes of [0, 1, 32, 250]) {
      const subject = "agent://globex/price-scout";
      const answer = core.bureau.check({ subject, stakes }, OPERATOR_CALL);
      expect(answer).toMatchObject({ allowed: false, decision: "escalate" });
    }
  });

  it("teaches weights that pass every gate of check", () => {
    const config = loadDefaultConfig();
    const { journal } = resolveDataPaths(dataDir);
    const replayed = replayJournal(journal, core.ledger.position(), config);
    const options = {
      id: "k-sample",
      nowMs: NOW_MS + 60_000,
      isSignedOff: false,
      testedToMs: { check: 0, handshake: 0 },
      gapMs: replayed.lagMs,
      isPilot: true,
    };
    const found = challengeBothScorecards(replayed.evidence, config, options, {
      attacks: { play: () => playAttacksOnTable(replayed), judge: openAttackJudge(config) },
      probe: probeInPrivateEngine,
    });
    expect(found.sides[0]!.gates.filter(({ passed }) => !passed)).toEqual([]);
    expect(found.sides[0]!.gates).toHaveLength(11);
    expect(found.sides[0]!.passed).toBe(true);
  }, 180_000);
});

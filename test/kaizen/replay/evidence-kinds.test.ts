// Kinds of evidence: which outcomes become rows by who signed them, and that rows of other kinds change
// nothing in the fit or in a gate.
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { EVIDENCE_KINDS, type EvidenceKind, SIGNATURES } from "../../../src/contract/vocabulary.ts";
import { VOICE_FIRST_PARTY, VOICE_REPORTER, VOICE_STRANGER } from "../../../src/contract/voices.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import type { FitRows } from "../../../src/kaizen/model/holdout.ts";
import { COLUMN_COUNT } from "../../../src/kaizen/model/scorecard.ts";
import { replayEvidence, replayJournal } from "../../../src/kaizen/replay/evidence.ts";
import type { OutcomeHistory } from "../../../src/kaizen/replay/history.ts";
import { challengeBothScorecards } from "../../../src/kaizen/run.ts";
import { NOW_MS, openStage, outcomesOf, type Stage } from "../_service.ts";

const CONFIG = loadDefaultConfig();
const HOUR_MS = 3_600_000;
/** What a drawn outcome can be: a kind of evidence, or a stranger's word. */
const WORDS = [...EVIDENCE_KINDS, "stranger"] as const;
type Word = (typeof WORDS)[number];

const subsets = fc.subarray([...EVIDENCE_KINDS], { minLength: 1 });

describe("rows of a journal", () => {
  let stage: Stage | undefined;
  afterEach(async () => {
    await stage?.kaizen.close();
    await stage?.ledger.close();
  });

  it("are those of the wanted kinds, counted by who signed", async () => {
    stage = await openStage();
    const unsigned = { signature: "none", source: "api" } as const;
    const made: Record<Word, (each: OutcomeRecord) => OutcomeRecord> = {
      import: (each) => ({ ...each, isFirstParty: true }),
      bureau: (each) => ({ ...each, ...unsigned, isFirstParty: true }),
      // A first-party key may carry what the reporter signed: it stays the reporter's.
      reporter: (each) => ({ ...each, ...unsigned, signature: "reporter", isFirstParty: true }),
      stranger: (each) => ({ ...each, ...unsigned, voice: VOICE_STRANGER + 1 }),
    };
    const all = outcomesOf(1, 400);
    await stage.ledger.appendBatch(all.map((each, i) => made[WORDS[i % 4]!](each)));
    const { journal } = resolveDataPaths(stage.dataDir);
    const position = stage.ledger.position();
    const replay = (kinds?: readonly EvidenceKind[]) =>
      replayJournal(journal, position, CONFIG, { kinds });
    expect(replay().rowsByKind).toEqual({ reporter: 100, bureau: 100, import: 100 });
    for (const [at, kind] of EVIDENCE_KINDS.entries()) {
      const { evidence, rowsByKind, rowsOf } = replay([kind]);
      expect(rowsByKind).toEqual({ reporter: 0, bureau: 0, import: 0, [kind]: 100 });
      expect(rowsOf).toBe(100);
      const expected = all.filter((_, i) => i % 4 === at).map(({ settledAtMs }) => settledAtMs);
      expect([...evidence.check.timesMs]).toEqual(expected);
    }
  });
});

interface Drawn {
  readonly word: Word;
  readonly subject: number;
  readonly reporter: number;
  readonly failure: number;
  readonly lateHours: number;
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  word: fc.constantFrom(...WORDS),
  subject: fc.integer({ min: 0, max: 5 }),
  reporter: fc.integer({ min: 6, max: 9 }),
  failure: fc.integer({ min: 0, max: 1 }),
  lateHours: fc.integer({ min: 0, max: 500 }),
});

const SIGNATURE_OF = { reporter: "reporter", bureau: "bureau", import: "bureau", stranger: "none" };
const VOICE_OF = {
  reporter: VOICE_REPORTER,
  bureau: VOICE_FIRST_PARTY,
  import: VOICE_FIRST_PARTY,
  stranger: VOICE_STRANGER + 7,
};

function historyOf(outcomes: readonly Drawn[]): OutcomeHistory {
  const settledMs = outcomes.map((_, i) => NOW_MS - (outcomes.length - i) * HOUR_MS);
  const words = outcomes.map(({ word }) => word);
  return {
    agents: Array.from({ length: 10 }, (_, i) => `agent://drawn/${i}`),
    subjects: outcomes.map(({ subject }) => subject),
    reporters: outcomes.map(({ reporter }) => reporter),
    failures: outcomes.map(({ failure }) => failure),
    stakes: outcomes.map(() => 5),
    stakesKnown: outcomes.map(() => 1),
    grades: outcomes.map(() => 3),
    signatures: words.map((word) => SIGNATURES.findIndex((each) => each === SIGNATURE_OF[word])),
    imported: words.map((word) => (word === "import" ? 1 : 0)),
    voices: words.map((word) => VOICE_OF[word]),
    settledMs,
    recordedMs: settledMs.map((at, i) => at + outcomes[i]!.lateHours * HOUR_MS),
    standings: [],
    marks: [],
    assessments: [],
  };
}

/** Those rows of `all` that the outcomes chosen by `isKept` became. */
function describeRows({ rows, failures, weights, timesMs }: FitRows, isKept: readonly boolean[]) {
  const kept = isKept.flatMap((keeps, row) => (keeps ? [row] : []));
  return kept.map((row) => ({
    values: [...rows.values.subarray(row * COLUMN_COUNT, (row + 1) * COLUMN_COUNT)],
    failure: failures[row],
    weight: weights[row],
    timeMs: timesMs[row],
  }));
}

describe("rows of other kinds", () => {
  it("leave every row of the wanted kinds as it is, and are none themselves", () => {
    const outcomes = fc.array(drawn, { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(outcomes, subsets, (given, kinds) => {
        const history = historyOf(given);
        const whole = replayEvidence(history, CONFIG);
        const part = replayEvidence(history, CONFIG, { kinds });
        const words = given.map(({ word }) => word).filter((word) => word !== "stranger");
        const isKept = words.map((word) => kinds.includes(word));
        const all = isKept.filter(Boolean).map(() => true);
        for (const side of ["check", "handshake"] as const) {
          const expected = describeRows(whole.evidence[side], isKept);
          expect(describeRows(part.evidence[side], all)).toEqual(expected);
          expect(part.evidence[side].rows.count).toBe(expected.length);
        }
        const counts = EVIDENCE_KINDS.map((kind) => words.filter((word) => word === kind).length);
        const byKind = EVIDENCE_KINDS.map((kind, i) => (kinds.includes(kind) ? counts[i] : 0));
        expect(Object.values(part.rowsByKind)).toEqual(byKind);
      }),
      { numRuns: 40 },
    );
  });

  it("change nothing in the fit and in the gates, whatever they say and however late", () => {
    const mine = fc.array(drawn, { minLength: 60, maxLength: 90 });
    fc.assert(
      fc.property(mine, fc.array(drawn, { maxLength: 40 }), (given, others) => {
        // Behind the wanted ones: they have been scored by then.
        const wanted = given.map((each) => ({ ...each, word: "reporter" as const, lateHours: 0 }));
        const excluded = others.map((each) => ({
          ...each,
          word: each.word === "reporter" ? ("import" as const) : each.word,
        }));
        const alone = historyOf(wanted);
        const both = historyOf([...wanted, ...excluded]);
        const shift = excluded.length * HOUR_MS;
        const settledMs = Array.from(both.settledMs, (at) => at + shift);
        const recordedMs = Array.from(both.recordedMs, (at) => at + shift);
        const mixed = { ...both, settledMs, recordedMs };
        const runs = [alone, mixed].map((history) => {
          const replayed = replayEvidence(history, CONFIG, { kinds: ["reporter"] });
          const { evidence, lagMs, attackAgents, rowsByKind } = replayed;
          const options = {
            id: "k-1",
            nowMs: NOW_MS,
            holdoutDays: 1,
            isSignedOff: false,
            isPilot: true,
            testedToMs: { check: 0, handshake: 0 },
            gapMs: lagMs,
          };
          const findings = challengeBothScorecards(evidence, CONFIG, options);
          const { frauds, honest } = attackAgents;
          return { findings, lagMs, frauds, honest, rowsByKind };
        });
        expect(runs[1]).toEqual(runs[0]);
      }),
      { numRuns: 10 },
    );
  });
});

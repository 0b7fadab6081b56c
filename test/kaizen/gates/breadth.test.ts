// Gate G11: a change that everybody bears out passes, a ring's lesson does not, whether the ring is
// scattered, examines itself with other names, or keeps to agents of its own.
import { describe, expect, it } from "vitest";
import { challengeScorecard } from "../../../src/kaizen/challenge.ts";
import type { FitRows } from "../../../src/kaizen/model/holdout.ts";
import { createSeededRandom } from "../../../src/kaizen/model/bootstrap.ts";
import { readCoefficients, computeRowLogit } from "../../../src/kaizen/model/scorecard.ts";
import { CONFIG, evidenceFrom, USABLE } from "../_evidence.ts";

const ROWS = 9000;
const TRAIN = 6000;
const CHAMPION = CONFIG.handshake;
const MOVED = { ...CHAMPION, intercept: -1, mean: 0.5 };
const RING_FROM = 300;
const RING_NAMES = 120;

function breadthOf(evidence: FitRows) {
  const found = challengeScorecard(evidence, CONFIG, {
    side: "handshake",
    usable: USABLE,
    trainTo: TRAIN,
    holdoutFrom: TRAIN,
    holdoutTo: ROWS,
    isPilot: true,
  });
  const others = found.gates.filter(({ id }) => id !== "G11");
  const gate = found.gates.find(({ id }) => id === "G11")!;
  return { gate, isPassedElsewhere: others.every(({ passed }) => passed), found };
}

/** A world as the champion sees it, in which a ring praises agents that look bad. */
function withRing(seed: number, nameOf: (row: number, i: number) => number): FitRows {
  const evidence = evidenceFrom(seed, ROWS, CHAMPION);
  const random = createSeededRandom(seed + 1000);
  const beta = readCoefficients(CHAMPION);
  let told = 0;
  for (let row = 0; row < ROWS; row++) {
    const looks = computeRowLogit(evidence.rows, row, beta);
    if (looks < -1.2 || random.uniform() > 0.4) continue;
    evidence.reporters[row] = RING_FROM + nameOf(row, told++);
    evidence.failures[row] = 0;
  }
  return evidence;
}

describe("breadth of a gain", () => {
  it("passes a change that everybody bears out", () => {
    for (const seed of [1, 2, 3]) {
      const { gate, found } = breadthOf(evidenceFrom(seed, ROWS, MOVED));
      expect(found.reason).toBe("all gates passed");
      expect(gate.numbers["others_z"]).toBeGreaterThan(2);
    }
  });

  it.each([
    ["scattered", (_row: number, i: number) => i % RING_NAMES],
    [
      "that teaches by some names and examines by others",
      (row: number, i: number) => (i % (RING_NAMES / 2)) + (row < TRAIN ? 0 : RING_NAMES / 2),
    ],
  ])("refuses the lesson of a ring %s", (_, nameOf) => {
    const runs = [4, 5, 6, 7].map((seed) => breadthOf(withRing(seed, nameOf)));
    // Everything else is fooled, or the test would say nothing about this gate.
    expect(runs.filter((run) => run.isPassedElsewhere).length).toBeGreaterThanOrEqual(2);
    for (const { gate } of runs) {
      expect(gate.passed).toBe(false);
      expect(gate.numbers["others_z"]).toBeLessThan(gate.numbers["others_z_min"]!);
    }
  });

  it("names the community without which nothing is gained", () => {
    const evidence = withRing(8, (_row, i) => i % RING_NAMES);
    const first = evidence.subjects.reduce((most, id) => Math.max(most, id), 0) + 1000;
    const agents = Array.from({ length: first + 20 }, (_, id) => `agent://a/${id}`);
    evidence.reporters.forEach((reporter, row) => {
      if (reporter >= RING_FROM) evidence.subjects[row] = first + (row % 20);
    });
    // Others keep to themselves too: eight markets of their own.
    evidence.reporters.forEach((reporter, row) => {
      if (reporter < RING_FROM) evidence.subjects[row] = 400 + (reporter % 8) * 50 + (row % 50);
    });
    const context = {
      stakes: new Float64Array(ROWS),
      stakesKnown: new Uint8Array(ROWS),
      namespaces: new Uint32Array(ROWS),
      namespaceNames: ["a"],
      agents,
    };
    const { gate } = breadthOf({ ...evidence, context });
    expect(gate.passed).toBe(false);
    expect(gate.numbers["communities"]).toBe(9);
    const { worst_community_relative_gain: left, community_gain_min: needed } = gate.numbers;
    expect(left).toBeLessThan(needed!);
    const leader = Number(/that of agent:\/\/a\/(\d+)/.exec(gate.sentence)?.[1]);
    expect(leader).toBeGreaterThanOrEqual(RING_FROM);
  });
});

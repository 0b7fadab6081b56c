// The state file as of an earlier time: promotions and rollbacks that came later never happened.
import { expect, test } from "vitest";
import type { KaizenState } from "../../../src/kaizen/service/files.ts";
import { rewindStateTo } from "../../../src/kaizen/service/files.ts";

/** c-0 until 100, c-1 until 200, c-2 until 300 when it was taken back, c-3 since 400. */
const STATE: KaizenState = {
  champion: "c-3",
  shipped: "c-0",
  promotions: [
    { run_id: "k-1", version: "c-1", parent: "c-0", at_ms: 100 },
    {
      run_id: "k-2",
      version: "c-2",
      parent: "c-1",
      at_ms: 200,
      rolled_back: { at_ms: 300, reason: "worse" },
    },
    { run_id: "k-3", version: "c-3", parent: "c-1", at_ms: 400 },
  ],
  tested_to_ms: { check: 390, handshake: 390 },
  calibrated_position: 77,
  cool_down_runs: 1,
  last_scheduled_ms: 380,
};

test.each([
  [99, "c-0", []],
  [100, "c-1", ["k-1"]],
  [250, "c-2", ["k-1", "k-2"]],
  [300, "c-1", ["k-1", "k-2 back"]],
  [400, "c-3", ["k-1", "k-2 back", "k-3"]],
])("at %i the config %s was live", (atMs, champion, runs) => {
  const then = rewindStateTo(STATE, atMs, 60);
  expect(then.champion).toBe(champion);
  expect(
    then.promotions.map(({ run_id: id, rolled_back: back }) => (back ? `${id} back` : id)),
  ).toEqual(runs);
  // What a test has seen stays seen, but no position lies beyond the journal.
  expect(then).toMatchObject({ tested_to_ms: STATE.tested_to_ms, calibrated_position: 60 });
});

test("a service without promotions keeps its config", () => {
  const { calibrated_position: _, ...rest } = STATE;
  const state = { ...rest, champion: "c-0", promotions: [] };
  expect(rewindStateTo(state, 1, 1)).toEqual(state);
});

// Events of kaizen's state file for webhooks: each promotion and each rollback once, in order of time.
import { expect, it } from "vitest";
import { KaizenFiles, type Promotion } from "../../../src/kaizen/service/files.ts";
import { KaizenEvents } from "../../../src/threads/webhooks/kaizen-events.ts";
import { temporaryDirectory } from "../../ledger/_fixtures.ts";

const promotion = (n: number, more: Partial<Promotion> = {}): Promotion => ({
  run_id: `k-20260101-00000000${n}`,
  version: `c-000000000000000${n}`,
  parent: `c-000000000000000${n - 1}`,
  at_ms: 1000 * n,
  ...more,
});

it("tells of promotions and rollbacks, from a place on", () => {
  const dataDir = temporaryDirectory();
  const files = new KaizenFiles(dataDir);
  const source = new KaizenEvents(dataDir, "tr-1");
  const state = files.loadState("c-0000000000000000");
  const save = (...promotions: Promotion[]) => files.saveState({ ...state, promotions });
  const begin = source.head();
  expect(source.read(begin)).toEqual({ readings: [], next: begin });

  save(promotion(1));
  const first = source.read(begin);
  expect(first.readings.flatMap(({ events }) => events)).toMatchObject([
    {
      type: "kaizen.promoted",
      tenant: null,
      atMs: 1000,
      data: { config_from: "c-0000000000000000", config_to: "c-0000000000000001", kind: "full" },
    },
  ]);
  expect(source.read(first.next).readings).toEqual([]);
  expect(source.head()).toEqual(first.next);

  // An older one is taken back after a newer one was promoted.
  const back = { at_ms: 3000, reason: "worse", left: "c-00000000000000ff" };
  save(promotion(1, { rolled_back: back }), promotion(2));
  const second = source.read(first.next);
  expect(second.readings.flatMap(({ events }) => events.map(({ type }) => type))).toEqual([
    "kaizen.promoted",
    "kaizen.rolled_back",
  ]);
  expect(second.readings[1]!.events[0]!.data).toMatchObject({
    reason: "worse",
    config_to: "c-00000000000000ff",
  });
  expect(source.read(second.next).readings).toEqual([]);
  // All of it again, from the beginning, under the same ids.
  expect(source.read(begin).readings).toEqual([...first.readings, ...second.readings]);
});

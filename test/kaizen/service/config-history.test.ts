// Configs that have been live: listed with their origin, read from their files, compared; over the real
// files of a champion that is promoted and taken back.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { Champion } from "../../../src/kaizen/service/champion.ts";
import {
  ChampionConfigHistory,
  listConfigDifferences,
} from "../../../src/kaizen/service/config-history.ts";
import { KaizenFiles, computeConfigVersion } from "../../../src/kaizen/service/files.ts";
import type { RunRecord } from "../../../src/kaizen/kaizen.ts";

const AT_MS = Date.parse("2026-06-01T00:00:00Z");
const shipped = loadDefaultConfig();
const learnt = {
  ...shipped,
  name: "learnt",
  check: { ...shipped.check, intercept: shipped.check.intercept - 0.25 },
};
const [SHIPPED, LEARNT] = [computeConfigVersion(shipped), computeConfigVersion(learnt)];
/** What the ledger does with a config is not looked at here. */
const ledger = {
  appendConfig: async () => 1,
  installConfig: async () => undefined,
  position: () => 1,
};
let dataDir: string;
let champion: Champion;

const run = (run_id: string): RunRecord => ({
  run_id,
  state: "promoted",
  started_at: new Date(AT_MS).toISOString(),
  started_by: "test",
  champion_version: champion.version,
  reason: "",
  rows: 1,
  position: 1,
});

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "kaizen-configs-"));
  champion = new Champion(new KaizenFiles(dataDir), ledger, shipped);
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const promote = () =>
  champion.promote(run("k-20260601-000000000"), learnt, (state) => state, { nowMs: AT_MS });

it("lists the shipped config where nothing was promoted", () => {
  expect(new ChampionConfigHistory(champion).list()).toEqual([
    {
      version: SHIPPED,
      name: shipped.name,
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
      in_force: true,
      shipped: true,
      on_file: true,
      from_run: null,
      kind: null,
      parent: null,
      promoted_at: null,
      rolled_back: null,
    },
  ]);
});

it("names the run of a promotion, and why it was taken back", async () => {
  await promote();
  const [live, before] = new ChampionConfigHistory(champion).list();
  expect(live).toMatchObject({
    version: LEARNT,
    in_force: true,
    shipped: false,
    from_run: "k-20260601-000000000",
    kind: "full",
    parent: SHIPPED,
    promoted_at: "2026-06-01T00:00:00.000Z",
    rolled_back: null,
  });
  expect(before).toMatchObject({ version: SHIPPED, in_force: false, shipped: true });
  expect(live!.digest!.slice(0, 23)).toBe(`sha256:${LEARNT.slice(2)}`);
  await champion.rollBack("worse", AT_MS + 1000);
  const found = new ChampionConfigHistory(champion).list();
  expect(found.map(({ version, in_force }) => [version, in_force])).toEqual([
    [SHIPPED, true],
    [LEARNT, false],
  ]);
  const back = { at: "2026-06-01T00:00:01.000Z", reason: "worse" };
  expect(found[1]).toMatchObject({ rolled_back: back });
});

it("reads a config whole, and says what differs from another", async () => {
  await promote();
  const found = new ChampionConfigHistory(champion).find(LEARNT, SHIPPED)!;
  expect(found.config).toEqual(learnt);
  expect(found.differences).toEqual([
    { pointer: "/check/intercept", from: shipped.check.intercept, to: learnt.check.intercept },
    { pointer: "/name", from: shipped.name, to: "learnt" },
  ]);
  expect(new ChampionConfigHistory(champion).find("active", "active")).toMatchObject({
    version: LEARNT,
    against: LEARNT,
    differences: [],
  });
  expect(new ChampionConfigHistory(champion).find(SHIPPED)).toMatchObject({
    against: null,
    differences: [],
  });
  expect(new ChampionConfigHistory(champion).find(LEARNT, "c-0000000000000000")).toBeUndefined();
  for (const unknown of ["c-0000000000000000", "../state", ""]) {
    expect(new ChampionConfigHistory(champion).find(unknown)).toBeUndefined();
  }
});

it("does not show a file that was changed", async () => {
  await promote();
  const file = join(dataDir, "kaizen", "configs", `${LEARNT}.json`);
  writeFileSync(file, JSON.stringify({ ...learnt, loss: 99 }));
  expect(new ChampionConfigHistory(champion).find(LEARNT)).toBeUndefined();
  expect(new ChampionConfigHistory(champion).list()[0]).toMatchObject({
    version: LEARNT,
    on_file: false,
    digest: null,
  });
});

it("tells members that one of two lacks", () => {
  const { check, ...rest } = shipped;
  const more = { ...rest, check: { ...check, weights: { ...check.weights, made_up: 2 } } };
  expect(listConfigDifferences(shipped, more)).toEqual([
    { pointer: "/check/weights/made_up", from: null, to: 2 },
  ]);
});

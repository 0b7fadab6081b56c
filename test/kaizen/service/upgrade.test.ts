// From release to release: what was ever live can be rolled back to, the config of a release that
// has long been replaced too; and who was never promoted follows what is shipped.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import type { ScoringConfig } from "../../../src/engine/config.ts";
import { computeConfigVersion } from "../../../src/kaizen/service/files.ts";
import type { KaizenTask } from "../../../src/kaizen/service/worker-pool.ts";
import { ASKED, NOW_MS, openStage } from "../_service.ts";
import type { Stage } from "../_service.ts";

const SHIPPED = loadDefaultConfig();

/** What a release ships, or a run finds. */
function configOf(name: string, intercept: number, changes: Partial<ScoringConfig> = {}) {
  return { ...SHIPPED, ...changes, name, check: { ...SHIPPED.check, intercept } };
}
const FIRST = configOf("first", -0.11);
/** Folds otherwise, too. */
const SECOND = configOf("second", -0.22, { pair_cap: SHIPPED.pair_cap + 1 });
const THIRD = configOf("third", -0.33);
const LEARNT = configOf("learnt", -0.44);

let stage: Stage | undefined;
let tasks: KaizenTask[] = [];
let told: string[] = [];

afterEach(async () => {
  await end();
  tasks = [];
  told = [];
});

/** @returns the files that it leaves. */
async function end(): Promise<string | undefined> {
  const dataDir = stage?.dataDir;
  await stage?.kaizen.close();
  await stage?.ledger.close();
  stage = undefined;
  return dataDir;
}

/** Ends what runs, and starts this release on its files. Runs learn LEARNT. */
async function start(shipped: ScoringConfig): Promise<Stage> {
  const dataDir = await end();
  const tell = (event: string) => void told.push(event);
  stage = await openStage(dataDir, {
    shipped,
    log: { info: () => undefined, warn: tell, error: tell },
    runTask: (task) => {
      tasks.push(task);
      const findings = { sides: [], reason: "won", policy: {} as never, config: LEARNT };
      return Promise.resolve({
        rows: 1,
        rowsByKind: { reporter: 0, bureau: 0, import: 1 },
        findings,
      });
    },
  });
  return stage;
}

async function promote({ kaizen }: Stage): Promise<void> {
  expect((await kaizen.start(ASKED)!.done).state).toBe("promoted");
}

/** What answers, and what kaizen says does. */
function live({ kaizen, engine }: Stage): string {
  const { config_version: version } = kaizen.status();
  expect(engine.activeConfigVersion).toBe(version);
  const { configNumber } = engine.check("agent://made/1", 1, NOW_MS);
  expect(engine.findConfigVersion(configNumber)).toBe(version);
  return version;
}

const fileOf = (at: Stage, config: ScoringConfig) =>
  join(at.dataDir, "kaizen", "configs", `${computeConfigVersion(config)}.json`);

it("a promotion outlives its release, and its rollback leads back beyond that", async () => {
  await promote(await start(FIRST));
  await start(SECOND);
  const third = await start(THIRD);
  expect(live(third)).toBe(computeConfigVersion(LEARNT));
  // The watch compares with the weights that were replaced, whoever ships them now.
  await third.kaizen.watch();
  expect(tasks.at(-1)!.watch!.check!.parent).toEqual(FIRST);
  expect(await third.kaizen.rollback("a test")).toMatchObject({
    config_version: computeConfigVersion(FIRST),
  });
  expect(live(third)).toBe(computeConfigVersion(FIRST));
  // It stays there until something is promoted, and that is taken back to it again.
  expect(live(await start(THIRD))).toBe(computeConfigVersion(FIRST));
  const fourth = await start(SECOND);
  expect(live(fourth)).toBe(computeConfigVersion(FIRST));
  for (let cooling = 0; cooling < 2; cooling++) await fourth.kaizen.start(ASKED)!.done;
  await promote(fourth);
  expect(await fourth.kaizen.rollback("again")).toMatchObject({
    config_version: computeConfigVersion(FIRST),
  });
  expect(told).toEqual(["kaizen_rolled_back", "kaizen_rolled_back"]);
});

it("who was never promoted follows what is shipped, also after a rollback to it", async () => {
  expect(live(await start(FIRST))).toBe(computeConfigVersion(FIRST));
  const second = await start(SECOND);
  expect(live(second)).toBe(computeConfigVersion(SECOND));
  await promote(second);
  await second.kaizen.rollback("a test");
  expect(live(await start(THIRD))).toBe(computeConfigVersion(THIRD));
  // All that was live lies there by its content.
  for (const config of [FIRST, SECOND, LEARNT, THIRD]) {
    expect(JSON.parse(readFileSync(fileOf(stage!, config), "utf8"))).toEqual(config);
  }
});

it("a config lost from the files stops its rollback alone, and nothing changes", async () => {
  await promote(await start(FIRST));
  rmSync(fileOf(stage!, FIRST));
  const second = await start(SECOND);
  await expect(second.kaizen.rollback("a test")).rejects.toThrow(/is missing/);
  expect(live(second)).toBe(computeConfigVersion(LEARNT));
  await second.kaizen.watch();
  expect((await second.kaizen.start({ ...ASKED, isDryRun: true })!.done).state).toBe("dry_run");
  expect(tasks.at(-1)!.watch).toBeUndefined();
  expect(told).toEqual(["kaizen_unwatched", "kaizen_unwatched"]);
});

it("a changed config file is mended by the release that ships it, else never used", async () => {
  await promote(await start(FIRST));
  const spoil = (at: Stage) => {
    const text = readFileSync(fileOf(at, FIRST), "utf8");
    writeFileSync(fileOf(at, FIRST), text.replace("-0.11", "-9.11"));
  };
  spoil(stage!);
  const second = await start(SECOND);
  await expect(second.kaizen.rollback("a test")).rejects.toThrow(/was changed/);
  expect(live(second)).toBe(computeConfigVersion(LEARNT));
  const first = await start(FIRST);
  await first.kaizen.rollback("a test");
  expect(live(await start(FIRST))).toBe(computeConfigVersion(FIRST));
  expect(live(await start(SECOND))).toBe(computeConfigVersion(SECOND));
});

it("a service that cannot keep what it ships serves, and promotes nothing", async () => {
  const first = await start(FIRST);
  rmSync(fileOf(first, FIRST));
  mkdirSync(fileOf(first, FIRST));
  const again = await start(FIRST);
  expect(told).toEqual(["kaizen_config_not_kept"]);
  const run = await again.kaizen.start(ASKED)!.done;
  expect(run.reason).toMatch(/champion stays: EISDIR/);
  expect(live(again)).toBe(computeConfigVersion(FIRST));
});

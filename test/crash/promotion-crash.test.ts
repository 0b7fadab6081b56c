// A promotion cut off at every durable step by SIGKILL, some of them in the whole service over HTTP:
// either the champion stays or the challenger is fully in, the run's record says which, and the next
// start serves it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import { computeConfigVersion } from "../../src/kaizen/service/files.ts";
import type { KaizenStatus, RunRecord, RunSummary } from "../../src/kaizen/kaizen.ts";
import { endAll } from "../cli/_process.ts";
import { startServer } from "./server.ts";
import type { CrashServer } from "./server.ts";
import { openStage, outcomesOf } from "../kaizen/_service.ts";

const SHIPPED = computeConfigVersion(loadDefaultConfig());
const PROMOTING = fileURLToPath(new URL("../kaizen/_promoting-child.ts", import.meta.url));
const SWITCH = fileURLToPath(new URL("../kaizen/_kill-switch.ts", import.meta.url));
/** Enough for a challenger that wins once a person signs the structural change. */
const OUTCOMES = 4000;
/** A world in which failures come in a row, or gate G9 would keep the weights that answer them. */
const STICKINESS = 2;
const RUN = { sign_off: true, holdout_days: 200 };

const root = mkdtempSync(join(tmpdir(), "kaizen-crash-"));
const history = join(root, "history");
/** What a first start leaves behind. */
const empty = join(root, "empty");
let cases = 0;

beforeAll(async () => {
  const stage = await openStage(history);
  await stage.ledger.appendBatch(outcomesOf(2, OUTCOMES, Date.now(), STICKINESS));
  await stage.ledger.close();
  await (await openStage(empty)).ledger.close();
});
afterAll(async () => {
  await endAll();
  rmSync(root, { recursive: true, force: true });
});

function freshCopy(from = history): string {
  const dataDir = join(root, `case-${++cases}`);
  cpSync(from, dataDir, { recursive: true });
  return dataDir;
}

function serve(dataDir: string, killAt = ""): Promise<CrashServer> {
  const environment = {
    TRUSTRANK_KAIZEN: "off",
    ...(killAt === "" ? {} : { KILL_AT: killAt, NODE_OPTIONS: `--import ${SWITCH}` }),
  };
  return startServer(dataDir, { environment });
}

/** Asks for something that the process does not survive. */
async function askToDeath(server: CrashServer, path: string, body: object): Promise<void> {
  await expect(server.post(path, JSON.stringify(body))).rejects.toThrow(/fetch failed|terminated/);
  expect((await server.ended).signal).toBe("SIGKILL");
}

type Status = KaizenStatus & { runs: RunSummary[] };

/** What a service says that starts on the files as they were left. */
async function afterwards(server: CrashServer) {
  const status = (await server.get("/v1/kaizen/runs")).body as Status;
  const [newest] = status.runs;
  const run = (await server.get(`/v1/kaizen/runs/${newest!.run_id}`)).body as RunRecord;
  const verdict = (await server.post(
    "/v1/trust/verify",
    JSON.stringify({
      agent_id: "agent://made/1",
      action: "report.publish",
      tool_level: "L1",
      context: {},
    }),
  )) as { body: { config_version: string } };
  return { status, run, served: verdict.body.config_version };
}

/** In the whole service, over HTTP: the first cut leaves least behind, the last one most. */
const FIRST = ["before the config file", "rename .json before 2", "during the run"] as const;
const LAST = [
  "before the state",
  "rename state.json before 1",
  "before the promotion was committed",
] as const;
/** From here on the swap has not happened when the process dies. */
const COMMITTED = ["after the state", "rename state.json after 1"] as const;

const BETWEEN = [
  // The run's own file is replaced when it starts, with its findings, and when it ends.
  ["after the config file", "rename .json after 2", "during the run"],
  ["before the findings", "rename .json before 3", "during the run"],
  ["after the findings", "rename .json after 3", "before the promotion was committed"],
  ["before the journal's record", "write journal before 1", "before the promotion was committed"],
  ["before its sync", "sync journal before 1", "before the promotion was committed"],
  ["after its sync", "sync journal after 1", "before the promotion was committed"],
] as const;

const AFTER = ["before the record's end", "rename .json before 5"] as const;

describe("with findings that win without the work", () => {
  /** Promotes in a process that does not survive it; what the next start finds. */
  async function promotedToDeath(killAt: string) {
    const dataDir = freshCopy(empty);
    const child = spawn(process.execPath, ["--import", SWITCH, PROMOTING, dataDir], {
      env: { PATH: process.env["PATH"], KILL_AT: killAt },
      stdio: ["ignore", "ignore", "inherit"],
    });
    expect(await once(child, "close")).toEqual([null, "SIGKILL"]);
    const stage = await openStage(dataDir);
    const served = stage.engine.activeConfigVersion;
    const [summary] = stage.kaizen.runs();
    const run = stage.kaizen.find(summary!.run_id)!;
    await stage.kaizen.close();
    await stage.ledger.close();
    return { run, served };
  }

  it.concurrent.each(BETWEEN)("the champion stays when killed %s", async (_, killAt, when) => {
    const { run, served } = await promotedToDeath(killAt);
    expect(served).toBe(SHIPPED);
    expect(run).toMatchObject({
      state: "failed",
      reason: `the process ended ${when}: the champion stays`,
    });
  });

  it.concurrent(`the challenger is in when killed ${AFTER[0]}`, async () => {
    const { run, served } = await promotedToDeath(AFTER[1]);
    expect(run.state).toBe("promoted");
    expect(run.challenger_version).not.toBe(SHIPPED);
    expect(served).toBe(run.challenger_version);
  });
});

/** Promotes in the whole service, which does not survive it; the champion stays. Started again. */
async function cutPromotion(dataDir: string, [, killAt, when]: readonly [string, string, string]) {
  await askToDeath(await serve(dataDir, killAt), "/v1/kaizen/run", RUN);
  const server = await serve(dataDir);
  const { status, run, served } = await afterwards(server);
  expect(served).toBe(SHIPPED);
  expect(status.config_version).toBe(SHIPPED);
  expect(run).toMatchObject({
    state: "failed",
    reason: `the process ended ${when}: the champion stays`,
  });
  return server;
}

it.concurrent(`the champion stays when killed ${LAST[0]}`, async () => {
  const server = await cutPromotion(freshCopy(), LAST);
  expect((await server.kill()).signal).toBe("SIGKILL");
});

it.concurrent(`the challenger is in when killed ${COMMITTED[0]}`, async () => {
  const dataDir = freshCopy();
  await askToDeath(await serve(dataDir, COMMITTED[1]), "/v1/kaizen/run", RUN);
  const server = await serve(dataDir);
  const { status, run, served } = await afterwards(server);
  expect(run.state).toBe("promoted");
  expect(run.challenger_version).toMatch(/^c-/);
  expect(run.challenger_version).not.toBe(SHIPPED);
  expect(served).toBe(run.challenger_version);
  expect(status).toMatchObject({ config_version: served, promoted_by: run.run_id });
  expect(run.findings!.sides.flatMap((side) => side.gates).length).toBeGreaterThan(10);
  await server.kill();
});

describe(`a promotion after one that was cut off ${FIRST[0]}`, () => {
  const promoted = join(root, "promoted");
  let challenger: RunRecord["challenger_version"];
  let servedThen: string;
  beforeAll(async () => {
    cpSync(history, promoted, { recursive: true });
    const server = await cutPromotion(promoted, FIRST);
    // Nothing is spent, nothing is in the way: the same run promotes now.
    const run = (await server.post("/v1/kaizen/run", JSON.stringify(RUN))).body as RunRecord;
    if (run.state !== "promoted") throw new Error(`the run is ${run.state}: ${run.reason}`);
    challenger = run.challenger_version;
    servedThen = (await afterwards(server)).served;
    await server.kill("SIGTERM");
  });

  it("serves the challenger", () => {
    expect(servedThen).toBe(challenger);
  });

  it("leaves both configs and one promotion, and no more half-written than the cut did", () => {
    const kaizen = join(promoted, "kaizen");
    // The cut came between the write of a config's file and its rename.
    const isWhole = (name: string) => !name.endsWith(".tmp");
    const files = readdirSync(join(kaizen, "configs"));
    const names = files.filter(isWhole);
    expect(files.length - names.length).toBeLessThanOrEqual(1);
    expect(names).toHaveLength(2);
    expect(names).toContain(`${SHIPPED}.json`);
    expect(readdirSync(kaizen).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    const state = JSON.parse(readFileSync(join(kaizen, "state.json"), "utf8")) as {
      promotions: { version: string }[];
    };
    expect(state.promotions).toHaveLength(1);
  });

  it.concurrent.each(["before", "after"])(
    "is there or rolled back when cut %s it",
    async (side) => {
      const dataDir = join(root, `rollback-${side}`);
      cpSync(promoted, dataDir, { recursive: true });
      const cut = await serve(dataDir, `rename state.json ${side} 1`);
      await askToDeath(cut, "/v1/kaizen/rollback", { reason: "a test" });
      const server = await serve(dataDir);
      const { run: found, served } = await afterwards(server);
      expect(served).toBe(side === "after" ? SHIPPED : challenger);
      expect(found.rolled_back?.reason).toBe(side === "after" ? "a test" : undefined);
      await server.kill();
    },
  );
});

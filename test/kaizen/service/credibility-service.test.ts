// Credibility in the whole service over HTTP: a ring invented to praise a fraud buys next to
// nothing, whom the operator vouches for still counts, and all of it survives kill -9.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import type { OutcomeRequest } from "../../../src/contract/schemas/outcomes.ts";
import type { AgentExplanation } from "../../../src/contract/schemas/scores.ts";
import { CredibilityService } from "../../../src/kaizen/service/credibility-service.ts";
import type { CredibilityServiceOptions } from "../../../src/kaizen/service/credibility-service.ts";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import { parseSeedRules } from "../../../src/kaizen/credibility/seeds.ts";
import type { CredibilityBatch, CredibilityStatus } from "../../../src/kaizen/kaizen.ts";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { endAll, startCommand } from "../../cli/_process.ts";
import { AUDITOR, BUYER, FRAUD, honestHistory, NEWCOMER, ringReports, SEEDS } from "../_market.ts";
import { generateMarket } from "../credibility/_market.ts";
import { NOW_MS, openStage, outcomesOf } from "../_service.ts";

const KEY = "credibility-suite-admin-key-0123456789abcdef";
const ROUTE = "/v1/kaizen/credibility";
/** Points that G9 lets a ring of 20 x 5 buy. */
const LIFT_MAX = 30;
const folder = mkdtempSync(join(tmpdir(), "trustrank-credibility-"));

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

interface Running {
  url: string;
  kill(): Promise<void>;
}

async function start(name: string, environment: Record<string, string>): Promise<Running> {
  const at = ["--data-dir", join(folder, name)];
  const started = startCommand(["serve", "--port", "0", "--no-sample", "--json", ...at], {
    TRUSTRANK_ADMIN_KEY: KEY,
    ...environment,
  });
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return {
    url,
    async kill() {
      started.process.kill("SIGKILL");
      await started.ended;
    },
  };
}

async function ask<T>({ url }: Running, method: string, path: string, body?: string): Promise<T> {
  const contentType = path.endsWith("import") ? "application/x-ndjson" : "application/json";
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${KEY}`, "content-type": contentType },
    body: body ?? null,
  });
  const text = await response.text();
  expect(response.ok, `${method} ${path}: ${text}`).toBe(true);
  return JSON.parse(text) as T;
}

const load = (at: Running, list: readonly OutcomeRequest[]) =>
  ask(at, "POST", "/v1/outcomes/import", list.map((each) => JSON.stringify(each)).join("\n"));
const report = (at: Running, list: readonly OutcomeRequest[]) =>
  ask(at, "POST", "/v1/outcomes/batch", JSON.stringify(list));
const refresh = (at: Running) => ask<CredibilityBatch>(at, "POST", ROUTE, "{}");
const status = (at: Running) => ask<CredibilityStatus>(at, "GET", ROUTE);
const explain = (at: Running, agent: string) =>
  ask<AgentExplanation>(at, "GET", `/v1/agents/${encodeURIComponent(agent)}`);
const scoreOf = async (at: Running, agent: string) => (await explain(at, agent)).effective_score;

/** Points that a first and a second wave of the ring buy the fraud. */
async function attack(at: Running, nowMs: number): Promise<number[]> {
  const before = await scoreOf(at, FRAUD);
  const lifts: number[] = [];
  for (const wave of [0, 1]) {
    await report(at, ringReports(nowMs, wave));
    await refresh(at);
    lifts.push((await scoreOf(at, FRAUD)) - before);
  }
  return lifts;
}

test("a ring of 20 x 5 buys a fraud next to nothing, before and after kill -9", async () => {
  const nowMs = Date.now();
  let service = await start("seeded", { TRUSTRANK_SEEDS: SEEDS });
  await load(service, honestHistory(nowMs));
  const first = await refresh(service);
  expect(first.reason).toBe("written");
  expect(first.figures).toMatchObject({ seeds: 3, believed_share: 1 });
  expect(await status(service)).toMatchObject({ is_wanted: true, has_seeds: true, in_force: true });

  for (const lift of await attack(service, nowMs)) expect(lift).toBeLessThan(LIFT_MAX);
  const [fraud, ring] = [await explain(service, FRAUD), await explain(service, "agent://ring/1")];
  expect(fraud.standing.discounted).toBe(true);
  expect(ring.standing).toMatchObject({ in_force: true, credibility: null, discounted: true });
  expect(ring.standing.weight).toBeLessThan(0.5);

  // Somebody whom the operator vouches for moves a score that the whole ring could not.
  const seen = await scoreOf(service, NEWCOMER);
  const newcomer = { subject: NEWCOMER, outcome: 1 as const, stakes: 10, grade: "escrow" as const };
  await report(
    service,
    Array.from({ length: 20 }, (_, i) => ({ ...newcomer, reporter: `agent://ring/${i}` })),
  );
  const byRing = (await scoreOf(service, NEWCOMER)) - seen;
  await report(service, [{ ...newcomer, reporter: AUDITOR }]);
  const byAuditor = (await scoreOf(service, NEWCOMER)) - seen - byRing;
  expect(byAuditor).toBeGreaterThan(byRing);
  expect((await explain(service, NEWCOMER)).evidence.outcomes).toBe(21);
  const low = "LOW_CREDIBILITY_EVIDENCE";
  expect((await explain(service, NEWCOMER)).reason_codes).not.toContain(low);
  await refresh(service);
  expect((await explain(service, NEWCOMER)).reason_codes).toContain(low);

  const agents = [FRAUD, NEWCOMER, AUDITOR, BUYER, "agent://ring/1"];
  const facts = async () => {
    const all = await Promise.all(agents.map((agent) => explain(service, agent)));
    return all.map(({ standing, reason_codes, evidence: { outcomes, reported } }) => ({
      standing,
      reason_codes,
      outcomes,
      reported,
    }));
  };
  const before = await facts();
  await service.kill();
  // Without seeds nothing is computed anew: what holds is what the journal says.
  service = await start("seeded", {});
  expect(await facts()).toEqual(before);
  expect(await status(service)).toMatchObject({ has_seeds: false, in_force: true });
  await service.kill();

  // Switched off it is off at once, and stays so until it is wanted again.
  service = await start("seeded", { TRUSTRANK_CREDIBILITY: "off", TRUSTRANK_SEEDS: SEEDS });
  expect(await status(service)).toMatchObject({ is_wanted: false, in_force: false });
  expect((await explain(service, "agent://ring/1")).standing.weight).toBe(1);
  expect(await refresh(service)).toMatchObject({
    records: 0,
    reason: expect.stringContaining("switched off"),
  });
});

test("without seeds the same ring makes a fraud look sound: what the seeds are for", async () => {
  const nowMs = Date.now();
  const service = await start("plain", {});
  await load(service, honestHistory(nowMs));
  expect(await refresh(service)).toMatchObject({
    records: 0,
    reason: expect.stringContaining("no seeds"),
  });
  const [lift = 0] = await attack(service, nowMs);
  expect(lift).toBeGreaterThan(2 * LIFT_MAX);
  expect((await explain(service, AUDITOR)).standing).toMatchObject({ in_force: false, weight: 1 });
});

test("the command weighs reporters on the files, without a server", async () => {
  const service = await start("files", {});
  await load(service, honestHistory(Date.now()));
  await service.kill();
  const run = async (...flags: string[]) => {
    const at = ["--data-dir", join(folder, "files"), "--json"];
    const ended = await startCommand(["kaizen", "credibility", ...flags, ...at], {
      TRUSTRANK_SEEDS: `${SEEDS},${BUYER}`,
    }).ended;
    expect(ended.code, ended.stderr).toBe(0);
    return JSON.parse(ended.stdout) as CredibilityBatch & CredibilityStatus;
  };
  expect(await run()).toMatchObject({ reason: "written", figures: { seeds: 4 } });
  expect(await run()).toMatchObject({ reason: "nothing changed", records: 0 });
  expect(await run("--status")).toMatchObject({ in_force: true });
});

describe("the schedule's batches", () => {
  const opened: { close(): Promise<void> }[] = [];
  afterAll(() => Promise.all(opened.map((each) => each.close())));

  async function open(extra: Partial<CredibilityServiceOptions> = {}) {
    const { dataDir, ledger, engine } = await openStage();
    const told: string[] = [];
    const tell = (event: string) => void told.push(event);
    const log = { info: tell, warn: tell, error: tell };
    const options = {
      journal: resolveDataPaths(dataDir).journal,
      ledger,
      engine,
      isWanted: true,
      rules: parseSeedRules("agent://voice/*"),
      config: loadDefaultConfig(),
      clock: () => NOW_MS,
      log,
      ...extra,
    };
    const service = new CredibilityService(options);
    opened.push(service, ledger);
    await ledger.appendBatch(outcomesOf(3, 200));
    return { ledger, engine, service, told, options };
  }

  it("come when something came in, and rest as long as the last one took, many times", async () => {
    // Every look at the clock costs a second: a batch takes one, and rests fifty.
    let nowMs = NOW_MS;
    const { ledger, service, told } = await open({ clock: () => (nowMs += 1000) });
    const batches = () => told.filter((event) => event === "credibility").length;
    await service.refreshIfDue();
    expect(batches()).toBe(1);
    expect(service.status().last).toMatchObject({ position: 200, records: 1 });
    // Its own record is news too, but there is nothing to write about it.
    nowMs += 60_000;
    await service.refreshIfDue();
    expect(service.status().last).toMatchObject({ position: 201, records: 0 });
    nowMs += 3_600_000;
    await service.refreshIfDue();
    expect(batches(), "nothing came in").toBe(2);
    await ledger.appendBatch(outcomesOf(4, 10));
    await service.refreshIfDue();
    expect(batches()).toBe(3);
    await ledger.appendBatch(outcomesOf(5, 10));
    await service.refreshIfDue();
    expect(batches(), "too early").toBe(3);
  });

  it("are none on trial: those are asked for, and put nothing in force", async () => {
    const findTrialRules = () => parseSeedRules("agent://voice/*");
    const { service, ledger, engine } = await open({ rules: undefined, findTrialRules });
    await service.refreshIfDue();
    expect(service.status().last?.figures).toBeUndefined();
    expect((await service.refresh()).reason).toMatch(/^on trial/);
    expect(service.graph(10)?.nodes.length).toBeGreaterThan(0);
    expect([ledger.position(), engine.areStandingsInForce]).toEqual([200, false]);
  });

  it("mark rings without seeds, and take the marks back once it is switched off", async () => {
    const { service, ledger, engine, options } = await open({ rules: undefined });
    const market = generateMarket({ outcomes: 3000, ring: 6 });
    await ledger.appendBatch(
      market.outcomes.map((each, i) => ({
        ...outcomesOf(3, 1)[0]!,
        ...each,
        outcomeId: `00000000-0000-7000-8001-${String(i).padStart(12, "0")}`,
      })),
    );
    const marks = () =>
      market.ring.filter((agent) => engine.explain(agent, NOW_MS).isInRing).length;
    await service.refreshIfDue();
    expect(service.status().last).toMatchObject({ rings: 1, ring_members: 6, records: 1 });
    expect([marks(), engine.areStandingsInForce]).toEqual([6, false]);
    expect(engine.explain(market.ring[0]!, NOW_MS)).toMatchObject({ isThin: true });
    const off = new CredibilityService({ ...options, isWanted: false });
    await off.open();
    await off.refreshIfDue();
    expect([marks(), off.status().last?.records]).toEqual([0, 1]);
    await ledger.appendBatch(outcomesOf(4, 10));
    const position = ledger.position();
    await off.refreshIfDue();
    expect(ledger.position(), "once").toBe(position);
  });

  it("are another node's while that leads", async () => {
    const leadership = { isHeld: false, onTaken: () => undefined };
    const { service, ledger } = await open({ leadership });
    await service.refreshIfDue();
    expect(ledger.position()).toBe(200);
    leadership.isHeld = true;
    await service.refreshIfDue();
    expect(ledger.position()).toBe(201);
  });

  it("are one for all who ask at once", async () => {
    const { service, ledger } = await open();
    const [one, other] = await Promise.all([service.refresh(), service.refresh()]);
    expect(other).toBe(one);
    expect(ledger.position()).toBe(201);
  });

  it("that break are told and change nothing", async () => {
    const { service, engine, told } = await open({ journal: join(folder, "nowhere") });
    await service.refreshIfDue();
    expect(told).toEqual(["credibility_failed"]);
    expect(engine.areStandingsInForce).toBe(false);
    await expect(service.refresh()).rejects.toThrow("ENOENT");
  });

  it("end with the service", async () => {
    const { service, ledger } = await open();
    const under = service.refresh();
    await service.close();
    await expect(under).rejects.toThrow("aborted");
    expect(ledger.position()).toBe(200);
  });
});

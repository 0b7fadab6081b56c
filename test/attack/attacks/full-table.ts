// Outcomes about ever new agents with identifiers as long as they may be, by one ordinary key: first
// against the limits of a key, then with these lifted, until the agent table is full. The service has
// to refuse in time, go on serving, and start again on what it has journaled. Attacker and service share
// this machine's cores: what others wait is held against what they wait while the same flood goes to a
// second service beside it.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import type { Attack } from "../attack.ts";
import { type ServerProcess, startServiceWith } from "../../../bench/server-process.ts";
import { type AttackStage, figuresOf, memoryMib } from "../stage.ts";

const BATCH_OUTCOMES = 200;
const LANES = 4;
const OUTCOMES = 5_000_000;
const OUTCOMES_SHORT = 30_000;
const LIMIT_SHORT = 5000;
/** With the limits lifted the table fills: small enough for the memory that the attack is allowed. */
const TABLE_MIB = 1024;
const TABLE_MIB_SHORT = 16;
const MEMORY_MAX_MIB = 4096;
const OTHERS_FACTOR_MAX = 2;
/** Share of the flood that the second service gets. */
const ELSEWHERE = 0.2;
/** The rate of outcomes would let this flood through in hours: what is tried are the bounds behind it. */
const UNLIMITED_RATE = { TRUSTRANK_RATE_OUTCOMES: "unlimited" };
const KNOWN = { subject: "agent://acme/ledger-sync", reporter: "agent://hooli/search-agent" };
const COMMAND = path.resolve(import.meta.dirname, "../../../src/cli/trustrank.ts");
/** Identifiers of 512 bytes: the longest there are. */
const PADDING = `${"x".repeat(120)}/`.repeat(3) + "x".repeat(80);

export const fullTable: Attack = {
  name: "full-table",
  what: "one key reports on five million new agents with the longest identifiers there are",
  async play(stage) {
    const broken: string[] = [];
    const figures: Record<string, number> = {};
    const limited = stage.isShort ? limits(LIMIT_SHORT) : {};
    await play(stage, "limited", { ...limited, ...UNLIMITED_RATE }, broken, figures);
    const bound = String(stage.isShort ? TABLE_MIB_SHORT : TABLE_MIB);
    const lifted = { ...limits(0), ...UNLIMITED_RATE, TRUSTRANK_TABLE_MB: bound };
    await play(stage, "lifted", lifted, broken, figures);
    return { broken, figures };
  },
};

function limits(perHour: number): Record<string, string> {
  const text = String(perHour);
  return { TRUSTRANK_NEW_AGENTS_PER_HOUR: text, TRUSTRANK_NEW_PAIRS_PER_HOUR: text };
}

async function play(
  stage: AttackStage,
  part: string,
  env: Record<string, string>,
  broken: string[],
  figures: Record<string, number>,
): Promise<void> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "trustrank-attack-"));
  try {
    const service = await startServiceWith(env, dataDir, () => undefined);
    const wrong = await flooded(stage, part, { service, env }, figures);
    const stopAt = performance.now();
    const code = await service.stop();
    figures[`${part}_stop_ms`] = Math.round(performance.now() - stopAt);
    if (code !== 0) wrong.push(`it did not end by itself: ${code ?? "killed"}`);
    wrong.push(...(await startedAgain(stage, part, env, dataDir, figures)));
    for (const each of wrong) broken.push(`${part}: ${each}`);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

interface Flooded {
  readonly service: ServerProcess;
  /** Its settings. */
  readonly env: Record<string, string>;
}

/** Floods a service; what did not hold. */
async function flooded(
  stage: AttackStage,
  part: string,
  { service, env }: Flooded,
  figures: Record<string, number>,
): Promise<string[]> {
  const wrong: string[] = [];
  const total = stage.isShort ? OUTCOMES_SHORT : OUTCOMES;
  const key = await stage.makeKey(service, "flood", ["outcomes:write"]);
  const elsewhere = stage.isShort ? Number.NaN : await p99Elsewhere(stage, { service, env });
  const startedAt = performance.now();
  const watched = await stage.watch(service, () => flood(stage, service, key, total));
  for (const [name, value] of Object.entries(figuresOf(watched))) {
    figures[`${part}_${name}`] = value;
  }
  const gauges = await gaugesOf(stage, service);
  const limited = gauges('outcomes_refused_total{code="newcomers_limited"}') || 0;
  const full = gauges('outcomes_refused_total{code="table_full"}') || 0;
  figures[`${part}_seconds`] = Math.round((performance.now() - startedAt) / 1000);
  figures[`${part}_refused_newcomers`] = limited;
  figures[`${part}_refused_full`] = full;
  figures[`${part}_agents`] = gauges("agents");
  figures[`${part}_table_share`] = gauges("table_share");
  const refused = part === "limited" ? limited : full;
  if (refused === 0) wrong.push("nothing was refused");
  if (gauges("table_overflow") > 0) wrong.push("the journal holds what the table does not");
  if (watched.memoryPeakMib > MEMORY_MAX_MIB) wrong.push(`${watched.memoryPeakMib} MiB of memory`);
  if (watched.during.failed > 0) wrong.push("others were not answered");
  const others = watched.during.p99;
  if (!stage.isShort) figures[`${part}_others_p99_elsewhere_ms`] = elsewhere;
  if (others > OTHERS_FACTOR_MAX * elsewhere) {
    wrong.push(`others waited ${others} ms; with the flood elsewhere ${elsewhere}`);
  }
  wrong.push(...(await answersOf(stage, service, key, part)));
  return wrong;
}

/**
 * What others wait for `service`, ms, while its attacker floods another with the same settings: what is refused costs
 * less than what is taken.
 */
async function p99Elsewhere(stage: AttackStage, { service, env }: Flooded): Promise<number> {
  const other = await stage.startWith(env);
  const key = await stage.makeKey(other, "flood", ["outcomes:write"]);
  const work = () => flood(stage, other, key, OUTCOMES * ELSEWHERE);
  const { p99 } = await stage.othersDuring(service, work);
  await other.stop();
  return Math.round(p99 * 100) / 100;
}

/** What is known is still reported on, what is new is refused with its code. */
async function answersOf(
  stage: AttackStage,
  service: ServerProcess,
  key: string,
  part: string,
): Promise<string[]> {
  const wrong: string[] = [];
  const told = { ...KNOWN, outcome: 1, stakes: 1, grade: "counterparty" };
  // The key has reported on it before: neither agent nor pair is new.
  const known = { ...told, subject: agentOf(0) };
  const taken = await stage.ask(service, "/v1/outcomes", { key, body: known });
  if (taken.status !== 201) wrong.push(`a known pair: ${taken.status} ${taken.text}`);
  const fresh = { ...told, subject: agentOf(OUTCOMES) };
  const refusal = await stage.ask(service, "/v1/outcomes", { key, body: fresh });
  const expected = part === "limited" ? '429 "newcomers_limited"' : '507 "table_full"';
  const [status, code] = expected.split(" ");
  if (String(refusal.status) !== status || !refusal.text.includes(code!)) {
    wrong.push(`a new agent: ${refusal.status} ${refusal.text}`);
  }
  const mayCome = refusal.headers["retry-after"] !== undefined;
  if (mayCome !== (part === "limited")) wrong.push("Retry-After where it says nothing, or none");
  const ready = await stage.ask(service, "/readyz");
  if (ready.status !== 200) wrong.push(`/readyz: ${ready.status} ${ready.text}`);
  const warns = ready.text.includes("agent table");
  if (warns !== (part === "lifted")) wrong.push(`/readyz: ${ready.text}`);
  return wrong;
}

/** Starts on the same directory, and on a smaller table; asks the doctor. */
async function startedAgain(
  stage: AttackStage,
  part: string,
  env: Record<string, string>,
  dataDir: string,
  figures: Record<string, number>,
): Promise<string[]> {
  const wrong: string[] = [];
  const mib = env["TRUSTRANK_TABLE_MB"];
  const smaller = { TRUSTRANK_TABLE_MB: String(Math.max(16, Number(mib ?? 64) / 4)) };
  const starts = [["again", env]] as [string, Record<string, string>][];
  if (part === "lifted" && smaller.TRUSTRANK_TABLE_MB !== mib) {
    starts.push(["smaller", { ...env, ...smaller }]);
  }
  for (const [name, changed] of starts) {
    const startedAt = performance.now();
    const service = await startServiceWith(changed, dataDir, () => undefined);
    figures[`${part}_${name}_start_ms`] = Math.round(performance.now() - startedAt);
    figures[`${part}_${name}_memory_mib`] = Math.round(memoryMib(service.pid));
    const gauges = await gaugesOf(stage, service);
    figures[`${part}_${name}_overflow`] = gauges("table_overflow");
    if (name === "again" && gauges("table_overflow") > 0) wrong.push("the start left records out");
    const ready = await stage.ask(service, "/readyz");
    if (ready.status !== 200) wrong.push(`${name}: /readyz ${ready.status} ${ready.text}`);
    if ((await service.stop()) !== 0) wrong.push(`${name}: it did not end by itself`);
  }
  if (part === "lifted" && !stage.isShort) {
    const said = await doctor(dataDir, { ...env, ...smaller });
    if (!/WRONG +agent table: .*find no room/.test(said)) wrong.push(`doctor: ${said}`);
  }
  return wrong;
}

async function doctor(dataDir: string, env: Record<string, string>): Promise<string> {
  const run = promisify(execFile)(process.execPath, [COMMAND, "doctor", "--data-dir", dataDir], {
    env: { ...process.env, ...env },
  });
  return run.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

/** Every outcome names an agent that was never heard of. */
async function flood(
  stage: AttackStage,
  service: ServerProcess,
  key: string,
  total: number,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < total) {
      const from = next;
      next += BATCH_OUTCOMES;
      const lines: string[] = [];
      for (let at = from; at < Math.min(next, total); at++) {
        lines.push(
          `{"subject":"${agentOf(at)}","reporter":"${KNOWN.reporter}","outcome":1,"stakes":1,"grade":"counterparty"}`,
        );
      }
      const headers = { "content-type": "application/x-ndjson" };
      const body = lines.join("\n");
      const reply = await stage.ask(service, "/v1/outcomes/batch", { key, body, headers });
      // A full queue is a way to refuse: the batch is lost to the attacker.
      if (reply.status !== 200 && reply.status !== 503) {
        throw new Error(`batch: ${reply.status} ${reply.text.slice(0, 300)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

function agentOf(at: number): string {
  return `agent://flood/${PADDING}/${String(at).padStart(44, "0")}`;
}

async function gaugesOf(
  stage: AttackStage,
  service: ServerProcess,
): Promise<(name: string) => number> {
  const { text } = await stage.ask(service, "/metrics");
  return (name) =>
    Number(new RegExp(`^trustrank_${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
}

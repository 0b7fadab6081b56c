// SQL that DuckDB can neither interrupt nor keep within its memory, from a key that may ask queries.
import { setTimeout as delay } from "node:timers/promises";
import type { Attack } from "../attack.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import { type AttackStage, figuresOf } from "../stage.ts";

/** Numbers in a row: some 20 characters each. */
const text = (numbers: number) =>
  `(SELECT string_agg(hash(range)::VARCHAR, '') AS s FROM range(${numbers}))`;
const HOSTILE: Readonly<Record<string, string>> = {
  levenshtein: `SELECT levenshtein(s, reverse(s)) FROM ${text(50_000)}`,
  damerau: `SELECT damerau_levenshtein(s, reverse(s)) FROM ${text(5000)}`,
  replace: `SELECT length(replace(replace(replace(s, '1', s), '2', s), '3', s)) FROM ${text(5000)}`,
  glob: `SELECT s || s GLOB '*1*2*3*4*5*6*7*8*9*0*1*2*x' FROM ${text(50_000)}`,
  list: `SELECT len(list(s || range)) FROM ${text(500)}, range(10000000)`,
};
const HOSTILE_SHORT = ["damerau", "levenshtein"];
const SERVICE_MORE_MIB = 150;
const LIMIT_MIB = 1024;
/** A query's 8 s and what it takes to stop it and to answer the next one, on a busy machine. */
const OTHERS_MS_MAX = 14_000;
const END_MS_MAX = 5000;

export const unstoppableSql: Attack = {
  name: "unstoppable-sql",
  what: "edit distances, nested replacements, patterns and lists without end; then SIGTERM",
  async play(stage) {
    const broken: string[] = [];
    const service = await stage.start();
    const others = await stage.makeKey(service, "others", ["analytics:read"]);
    const wanted = stage.isShort ? HOSTILE_SHORT : Object.keys(HOSTILE);
    let slowest = 0;
    let processPeakMib = 0;
    const watched = await stage.watch(service, async () => {
      for (const name of wanted) {
        // Each from another tenant: who had to be stopped waits.
        const key = await stage.makeKey(service, name, ["analytics:read"]);
        const attack = askSql(stage, service, key, HOSTILE[name] as string);
        const asked = askSql(stage, service, others, "SELECT count(*) FROM outcomes");
        const sampling = samplingOf(stage, service);
        const { status, text: body } = await attack.reply;
        if (status !== 422 || !/"code":"(timeout|memory)"/.test(body)) {
          broken.push(`${name}: ${status} ${body.slice(0, 200)}`);
        }
        const other = await asked.reply;
        if (other.status !== 200) broken.push(`${name}: another tenant's query: ${other.status}`);
        slowest = Math.max(slowest, await asked.tookMs);
        processPeakMib = Math.max(processPeakMib, await sampling.end());
      }
    });
    if (slowest > OTHERS_MS_MAX) broken.push(`others waited ${Math.round(slowest)} ms`);
    if (processPeakMib > LIMIT_MIB) broken.push(`the process took ${processPeakMib} MiB`);
    const moreMib = watched.memoryPeakMib - watched.memoryBeforeMib;
    if (moreMib > SERVICE_MORE_MIB) broken.push(`the service took ${Math.round(moreMib)} MiB more`);
    if (watched.during.failed > 0) broken.push("verdicts were not given");
    const endMs = await endUnder(stage, service);
    if (endMs > END_MS_MAX) broken.push(`SIGTERM took ${Math.round(endMs)} ms`);
    const figures = {
      ...figuresOf(watched),
      others_query_max_ms: Math.round(slowest),
      query_process_peak_mib: Math.round(processPeakMib),
      sigterm_ms: Math.round(endMs),
    };
    return { broken, figures };
  },
};

function askSql(stage: AttackStage, service: ServerProcess, key: string, sql: string) {
  const startedAt = performance.now();
  const reply = stage.ask(service, "/v1/query", { key, body: { sql } });
  return { reply, tookMs: reply.then(() => performance.now() - startedAt) };
}

/** Highest memory of the query process, as the service's own gauge shows it. */
function samplingOf(stage: AttackStage, service: ServerProcess) {
  let isOver = false;
  const peak = (async () => {
    let peakMib = 0;
    while (!isOver) {
      const { text: metrics } = await stage.ask(service, "/metrics");
      const bytes = /^trustrank_query_process_memory_bytes (\d+)/m.exec(metrics)?.[1];
      peakMib = Math.max(peakMib, Number(bytes ?? 0) / 2 ** 20);
      await delay(200);
    }
    return peakMib;
  })();
  return {
    end: () => {
      isOver = true;
      return peak;
    },
  };
}

/** Time from SIGTERM to the end while a query runs that nothing stops. */
async function endUnder(stage: AttackStage, service: ServerProcess): Promise<number> {
  const key = await stage.makeKey(service, "last", ["analytics:read"]);
  const body = { sql: HOSTILE["levenshtein"] as string };
  // The end of the service may end the connection.
  stage.ask(service, "/v1/query", { key, body }).catch(() => undefined);
  await delay(1000);
  const startedAt = performance.now();
  await service.stop();
  return performance.now() - startedAt;
}

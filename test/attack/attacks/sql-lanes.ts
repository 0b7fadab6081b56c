// Plain long queries of several tenants at once, and a short one of another: whoever asks little must not wait
// for those who ask much.
import type { ServerProcess } from "../../../bench/server-process.ts";
import type { Attack } from "../attack.ts";
import { type AttackStage, delay, figuresOf } from "../stage.ts";

const TENANTS = 5;
/** Runs into the limit of 8 s; DuckDB can interrupt it. */
const LONG = "SELECT sum(range % 7) FROM range(1000000000000)";
const SHORT = "SELECT count(*) FROM outcomes";
/** A trial of each other that waits. */
const SHORT_MS_MAX = 8_000;

export const sqlLanes: Attack = {
  name: "sql-lanes",
  what: "five tenants ask one long query each, a sixth asks count(*)",
  async play(stage) {
    const broken: string[] = [];
    const service = await stage.start();
    const keys: string[] = [];
    for (let n = 0; n < TENANTS; n++) {
      keys.push(await stage.makeKey(service, `long${n}`, ["analytics:read"]));
    }
    const key = await stage.makeKey(service, "short", ["analytics:read"]);
    await ask(stage, service, key, SHORT);
    let shortMs = 0;
    let againMs = 0;
    let longMs = 0;
    const watched = await stage.watch(service, async () => {
      const long = keys.map((each) => ask(stage, service, each, LONG));
      await delay(500);
      for (const [name, place] of [
        ["first", 0],
        ["second", 1],
      ] as const) {
        const { status, tookMs } = await ask(stage, service, key, SHORT);
        if (status !== 200) broken.push(`the ${name} count(*): ${status}`);
        if (place === 0) shortMs = tookMs;
        else againMs = tookMs;
      }
      for (const { status, tookMs } of await Promise.all(long)) {
        // Their own limit, not the wait for their turn.
        if (status !== 422) broken.push(`a long query: ${status}`);
        longMs = Math.max(longMs, tookMs);
      }
    });
    const slowest = Math.max(shortMs, againMs);
    if (slowest > SHORT_MS_MAX) broken.push(`count(*) waited ${Math.round(slowest)} ms`);
    const figures = {
      ...figuresOf(watched),
      count_ms: Math.round(shortMs),
      count_again_ms: Math.round(againMs),
      long_max_ms: Math.round(longMs),
    };
    return { broken, figures };
  },
};

async function ask(stage: AttackStage, service: ServerProcess, key: string, sql: string) {
  const startedAt = performance.now();
  const { status } = await stage.ask(service, "/v1/query", { key, body: { sql } });
  return { status, tookMs: performance.now() - startedAt };
}

// A flood of large provenance notes while an administrator makes keys, and a stop in the middle of it.
import { createHash, randomBytes } from "node:crypto";
import type { ServerProcess } from "../../../bench/server-process.ts";
import type { Attack } from "../attack.ts";
import { Lasting, sql, untilApplied } from "../lasting.ts";
import { type AttackStage, delay, figuresOf } from "../stage.ts";

const CONNECTIONS = 6;
const SOURCES = 64;
const SOURCE_BYTES = 500;
const LASTS_MS = 20_000;
const LASTS_SHORT_MS = 2500;
const KEYS = 10;
const KEYS_SHORT = 4;
const STOP_MS_MAX = 10_000;
/** DuckDB's cache, which fills to its limit (512 MiB), and as much again for queues, garbage and allocators. */
const MEMORY_MORE_MIB = 1024;

export const provenanceFlood: Attack = {
  name: "provenance-flood",
  what: "six connections tell provenance of 35 kB while keys are made, then the service stops",
  async play(stage) {
    const broken: string[] = [];
    const lasting = new Lasting();
    try {
      let service = await lasting.start();
      const key = await stage.makeKey(service, "mallory", ["outcomes:write"]);
      const flood = new Flood(stage, service, key);
      const made: string[] = [];
      const watched = await stage.watch(service, async () => {
        flood.begin();
        const count = stage.isShort ? KEYS_SHORT : KEYS;
        for (let n = 0; n < count; n++) {
          const body = { tenant: `t-${n}`, scopes: ["score:read"] };
          const { status, text } = await stage.ask(service, "/v1/keys", { body });
          if (status === 201) made.push((JSON.parse(text) as { key_id: string }).key_id);
          else broken.push(`a key was not made: ${status}`);
          await delay((stage.isShort ? LASTS_SHORT_MS : LASTS_MS) / count);
        }
      });
      // The flood goes on while it stops.
      const stopped = await lasting.stop();
      await flood.end();
      if (stopped.tookMs > STOP_MS_MAX) broken.push(`the stop took ${stopped.tookMs} ms`);
      if (stopped.code !== 0) broken.push(`the stop ended with ${stopped.code}`);
      const moreMib = watched.memoryPeakMib - watched.memoryBeforeMib;
      if (moreMib > MEMORY_MORE_MIB) broken.push(`${Math.round(moreMib)} MiB more`);

      service = await lasting.start();
      await untilApplied(stage, service);
      const there = await textsOf(stage, service, "SELECT content_hash FROM provenance");
      const lost = flood.accepted.filter((hash) => !there.has(hash)).length;
      if (lost > 0) broken.push(`${lost} of ${flood.accepted.length} accepted notes are lost`);
      const audits = "SELECT detail->>'key_id' FROM audit_events WHERE event = 'api_key.created'";
      const audited = await textsOf(stage, service, audits);
      const unaudited = made.filter((id) => !audited.has(id)).length;
      if (unaudited > 0) broken.push(`${unaudited} of ${made.length} keys have no audit`);
      const figures = {
        ...figuresOf(watched),
        accepted: flood.accepted.length,
        refused: flood.refused,
        keys_made: made.length,
        stop_ms: Math.round(stopped.tookMs),
      };
      return { broken, figures };
    } finally {
      await lasting.close();
    }
  },
};

/** The first column as a set, a part of the rows at a time. */
async function textsOf(stage: AttackStage, service: ServerProcess, text: string) {
  const found = new Set<unknown>();
  const part = 5000;
  for (let from = 0; ; from += part) {
    const rows = await sql(stage, service, `${text} ORDER BY 1 LIMIT ${part} OFFSET ${from}`);
    for (const [value] of rows) found.add(value);
    if (rows.length < part) return found;
  }
}

class Flood {
  readonly accepted: string[] = [];
  refused = 0;
  readonly #stage: AttackStage;
  readonly #service: ServerProcess;
  readonly #key: string;
  #isOver = false;
  #running: Promise<void>[] = [];

  constructor(stage: AttackStage, service: ServerProcess, key: string) {
    this.#stage = stage;
    this.#service = service;
    this.#key = key;
  }

  begin(): void {
    this.#running = Array.from({ length: CONNECTIONS }, () => this.#tell());
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  async #tell(): Promise<void> {
    while (!this.#isOver) {
      const hash = createHash("sha256").update(randomBytes(16)).digest("hex");
      const content_hash = `sha256:${hash}`;
      const cited_sources = Array.from({ length: SOURCES }, () =>
        randomBytes(SOURCE_BYTES / 2).toString("hex"),
      );
      const body = {
        agent_id: "agent://mallory/w",
        action: "report.write",
        content_hash,
        cited_sources,
      };
      const reply = await this.#stage
        .ask(this.#service, "/v1/provenance", { key: this.#key, body })
        .catch(() => undefined);
      // The service has stopped.
      if (reply === undefined) return;
      if (reply.status === 202) this.accepted.push(content_hash);
      else if (reply.status === 503) this.refused += 1;
      else throw new Error(`${reply.status} ${reply.text.slice(0, 300)}`);
    }
  }
}

// The system's clock set 400 days forward for a moment, while the service runs and for a restart.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Attack } from "../attack.ts";
import { type AttackStage, delay } from "../stage.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";

const JUMP_MS = 400 * 86_400_000;
/** Twice the interval at which the service looks at the clock. */
const LASTS_MS = 2500;
const OUTCOMES = 20;

const PRELOAD = new URL("../set-clock.ts", import.meta.url).href;

export const clockJump: Attack = {
  name: "clock-jump",
  what: "the clock is 400 days ahead for some seconds, while an id is sent again",
  async play(stage) {
    const broken: string[] = [];
    const directory = mkdtempSync(join(tmpdir(), "trustrank-clock-"));
    const file = join(directory, "wrong-by-ms");
    try {
      const service = await stage.startWith({
        NODE_OPTIONS: `--import ${PRELOAD}`,
        TRUSTRANK_ATTACK_CLOCK: file,
      });
      const sent = Array.from({ length: OUTCOMES }, (_, n) => outcomeOf(n));
      for (const outcome of sent) await report(stage, service, outcome);
      writeFileSync(file, String(JUMP_MS));
      await delay(LASTS_MS);
      // What is settled by the wrong clock is refused, and the rest is known.
      const ahead = {
        ...outcomeOf(1000),
        settled_at: new Date(Date.now() + JUMP_MS).toISOString(),
      };
      if ((await report(stage, service, ahead)).status === 201)
        broken.push("a time to come counts");
      const counted = await countRepeats(stage, service, sent);
      const ready = await stage.ask(service, "/readyz");
      if (!ready.text.includes("clock jumped")) broken.push("/readyz does not tell of the jump");
      rmSync(file, { force: true });
      await delay(LASTS_MS);
      const countedAfter = await countRepeats(stage, service, sent);
      const kept = await rowsOf(stage, service);
      if (counted + countedAfter > 0) broken.push(`${counted + countedAfter} ids counted twice`);
      if (kept < OUTCOMES) broken.push(`${OUTCOMES - kept} outcomes left the window`);
      return { broken, figures: { counted_twice: counted + countedAfter, rows_kept: kept } };
    } finally {
      if (existsSync(directory)) rmSync(directory, { recursive: true });
    }
  },
};

function outcomeOf(n: number): Record<string, unknown> {
  return {
    outcome_id: `clock-${n}`,
    subject: "agent://clock/seller",
    reporter: "agent://acme/buyer",
    outcome: 1,
    stakes: 5,
    grade: "counterparty",
  };
}

function report(stage: AttackStage, service: ServerProcess, outcome: Record<string, unknown>) {
  const { outcome_id, ...body } = outcome;
  const headers = { "idempotency-key": String(outcome_id) };
  return stage.ask(service, "/v1/outcomes", { body, headers });
}

/** How many of them are counted again. */
async function countRepeats(
  stage: AttackStage,
  service: ServerProcess,
  sent: readonly Record<string, unknown>[],
): Promise<number> {
  let counted = 0;
  for (const outcome of sent) {
    const { status, text } = await report(stage, service, outcome);
    if (status === 201 && !(JSON.parse(text) as { duplicate: boolean }).duplicate) counted++;
  }
  return counted;
}

async function rowsOf(stage: AttackStage, service: ServerProcess): Promise<number> {
  const sql = "SELECT count(*) FROM outcomes WHERE subject = 'agent://clock/seller'";
  const reply = await stage.ask(service, "/v1/query", { body: { sql } });
  return (JSON.parse(reply.text) as { rows: number[][] }).rows[0]?.[0] ?? 0;
}

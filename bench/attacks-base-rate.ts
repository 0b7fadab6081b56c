// Base-rate attack of bench -- eval:attacks: unknown agents report failures of throw-away agents for
// twelve hours, so that everybody's score falls with the base rate. Unsigned by an ordinary key, and
// signed by keys that the operator registered for them.
import { DAY_MS, outcomeOf, Stage } from "./attack-stage.ts";
import type { Outcome } from "./attack-stage.ts";
import { startService } from "./server-process.ts";

const HOUR_MS = 3_600_000;
const HOURS = 12;
const SELLERS = 31;

export interface BaseRateRow {
  attack: string;
  /** Median score of the honest agents. */
  before: number;
  after: number;
}

/** Agents of a market of thirty buyers, imported: sixty days, one failure in ten. */
async function buildMarket(stage: Stage): Promise<string[]> {
  const sellers = Array.from({ length: SELLERS }, (_, i) => `agent://honest/seller-${i}`);
  const fromMs = Date.now() - 62 * DAY_MS;
  const outcomes = sellers.flatMap((seller, i) =>
    Array.from({ length: 60 }, (_, day) => {
      const buyer = `agent://honest/buyer-${(i + day) % 30}`;
      return outcomeOf(seller, buyer, (i + day) % 10 > 0, fromMs + day * DAY_MS + i * HOUR_MS);
    }),
  );
  await stage.import(outcomes.toSorted((a, b) => a.settled_at - b.settled_at));
  return sellers;
}

/** Failures of agents that nobody has heard of, by `names` reporters in each of twelve hours. */
function failuresOf(name: string, names: number, hour: number): Outcome[] {
  const atMs = Date.now() - (HOURS - hour) * HOUR_MS;
  return Array.from({ length: names }, (_, i) =>
    outcomeOf(`agent://thrown/${name}-${hour}-${i}`, `agent://invented/${name}-${i}`, false, atMs),
  );
}

async function playUnsigned(stage: Stage, names: number): Promise<void> {
  const key = await stage.makeKey(`drag-${names}`);
  for (let hour = 0; hour < HOURS; hour++) {
    await stage.post(key, failuresOf(`unsigned-${names}`, names, hour));
  }
}

async function playSigned(stage: Stage, names: number): Promise<void> {
  const key = await stage.makeKey(`drag-signed-${names}`);
  const hours = Array.from({ length: HOURS }, (_, hour) =>
    failuresOf(`signed-${names}`, names, hour),
  );
  const signers = [];
  for (const { reporter } of hours[0]!) signers.push(await stage.signer(reporter));
  for (const failures of hours) {
    for (const [i, failure] of failures.entries()) {
      await stage.postSigned(key, signers[i]!, [failure]);
    }
  }
}

/**
 * Plays the attack by each number of names, unsigned and then signed. Each has a service of its own
 * that has heard nothing for a day: on one in use an attack of twelve hours takes twelve hours.
 */
export async function playBaseRate(counts: readonly number[]): Promise<BaseRateRow[]> {
  const rows: BaseRateRow[] = [];
  const attacks = [
    ["unsigned", playUnsigned],
    ["signed", playSigned],
  ] as const;
  for (const [how, play] of attacks) {
    for (const names of counts) {
      const service = await startService("--no-sample");
      try {
        const stage = new Stage(service);
        await stage.open();
        const honest = await buildMarket(stage);
        const before = await stage.median(honest);
        await play(stage, names);
        // An outcome of now closes the hours before.
        await stage.report([outcomeOf(honest[0]!, "agent://ops/gateway", true, Date.now())]);
        const after = await stage.median(honest);
        rows.push({ attack: `${names} names for 12 hours, ${how}`, before, after });
      } finally {
        await service.stop();
      }
    }
  }
  for (const { attack, before, after } of rows) {
    process.stderr.write(`| base rate | ${attack} | median ${before} | ${after} |\n`);
  }
  return rows;
}

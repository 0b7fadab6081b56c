// Failures of agents that nobody knows, by reporters whom nobody knows, hour after hour, graded and
// staked as high as can be, so that everybody's score falls with the base rate. Honest sellers have to
// keep their verdicts: without seeds, and with ten buyers vouched for.
import { DAY_MS, outcomeOf, Stage } from "../../../bench/attack-stage.ts";
import type { Attack } from "../attack.ts";
import type { AttackStage } from "../stage.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;
const PAIRS_AN_HOUR = 20;
const SELLERS = 60;
const SELLERS_SHORT = 12;
const BUYERS = 30;
const SEEDS = 10;
const STAKES = 1e12;

export const baseRate: Attack = {
  name: "base-rate",
  what: "twenty invented pairs an hour report failures at the highest grade and stakes",
  async play(stage) {
    const seeds = Array.from({ length: SEEDS }, (_, at) => `agent://honest/buyer-${at}`).join();
    const settings: Record<string, Record<string, string>> = stage.isShort
      ? { unseeded: {} }
      : { unseeded: {}, seeded: { TRUSTRANK_SEEDS: seeds } };
    const broken: string[] = [];
    const figures: Record<string, number> = {};
    for (const [name, env] of Object.entries(settings)) {
      const { harmed, sellers, before, after } = await drag(stage, env);
      figures[`${name}_median_before`] = before;
      figures[`${name}_median_after`] = after;
      figures[`${name}_harmed`] = harmed;
      if (harmed > 0)
        broken.push(`${name}: ${harmed} of ${sellers} honest sellers are denied at L2`);
    }
    return { broken, figures };
  },
};

async function drag(stage: AttackStage, env: Record<string, string>) {
  const service = await stage.startWith(env, "--no-sample");
  const bureau = new Stage(service);
  await bureau.open();
  const count = stage.isShort ? SELLERS_SHORT : SELLERS;
  const sellers = Array.from({ length: count }, (_, at) => `agent://honest/seller-${at}`);
  const fromMs = Date.now() - 62 * DAY_MS;
  const history = sellers.flatMap((seller, at) =>
    Array.from({ length: 60 }, (_, day) => {
      const buyer = `agent://honest/buyer-${(at + day) % BUYERS}`;
      return outcomeOf(seller, buyer, (at + day) % 10 > 0, fromMs + day * DAY_MS + at * 60_000);
    }),
  );
  await bureau.import(history.toSorted((left, right) => left.settled_at - right.settled_at));
  const before = await standingsOf(bureau, sellers);
  const key = await stage.makeKey(service, "dragger", ["outcomes:write"]);
  for (let hour = 0; hour < HOURS; hour++) {
    const atMs = Date.now() - (HOURS - hour) * HOUR_MS;
    const failures = Array.from({ length: PAIRS_AN_HOUR }, (_, at) => ({
      ...outcomeOf(`agent://thrown/${hour}-${at}`, `agent://invented/${hour}-${at}`, false, atMs),
      grade: "onchain",
      stakes: STAKES,
    }));
    await stage.ask(service, "/v1/outcomes/batch", { key, body: failures });
  }
  // An outcome of now closes the hours before.
  await bureau.report([outcomeOf(sellers[0]!, "agent://ops/gateway", true, Date.now())]);
  const after = await standingsOf(bureau, sellers);
  const isDenied = (verdict: string) => verdict === "QUARANTINE" || verdict === "BLOCK";
  const harmed = sellers.filter((_, at) => isDenied(after[at]!.l2) && !isDenied(before[at]!.l2));
  await service.stop();
  const median = (all: typeof before) =>
    all.map(({ score }) => score).toSorted((left, right) => left - right)[count >> 1]!;
  return { harmed: harmed.length, sellers: count, before: median(before), after: median(after) };
}

async function standingsOf(bureau: Stage, sellers: readonly string[]) {
  const standings: Awaited<ReturnType<Stage["ask"]>>[] = [];
  for (const seller of sellers) standings.push(await bureau.ask(seller));
  return standings;
}

// Tenants that an administrator has granted a namespace, and vouches for none of them, praise and slander
// by signing reporters of their own making. However many names and keys they use: nobody is allowed by
// them alone, nobody with a record is denied, and each tenant moves an agent by ten points at most.
import { outcomeOf, series, Stage, type Standing } from "../../../bench/attack-stage.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import type { Attack } from "../attack.ts";
import { registerSigners, report, type Signers } from "../material/signers.ts";
import type { AttackStage } from "../stage.ts";

const TENANTS = [1, 3];
const NAMES = [1, 5, 30];
const KEYS = [1, 10];
const POSTS = 40;
const POINTS_MAX = 10;
const HONEST = {
  young: { count: 100, days: 60 },
  seller: { count: 300, days: 120 },
};
const REPORTERS = 20;
const SAID = {
  praise: Array.from({ length: POSTS }, () => 1 as const),
  slander: Array.from({ length: POSTS }, () => 0 as const),
  both: Array.from({ length: POSTS }, (_, at): 0 | 1 => (at < POSTS / 2 ? 1 : 0)),
};

interface Case {
  readonly name: string;
  readonly tenants: number;
  readonly names: number;
  readonly keys: number;
  readonly outcomes: readonly (0 | 1)[];
}

export const signedRing: Attack = {
  name: "signed-ring",
  what: "one and three tenants praise and slander by 1 to 30 signing names over 1 and 10 keys",
  async play(stage) {
    const cases = listCases(stage.isShort);
    const empty = await playEmpty(stage, cases);
    const honest = await playHonest(stage, cases);
    const vouched = await playVouched(stage);
    return {
      broken: [...empty.broken, ...honest.broken, ...vouched.broken],
      figures: { ...empty.figures, ...honest.figures, ...vouched.figures },
    };
  },
};

function listCases(isShort: boolean): Case[] {
  const [names, keys] = isShort ? [[5], [10]] : [NAMES, KEYS];
  return TENANTS.flatMap((tenants) =>
    names.flatMap((count) =>
      keys.flatMap((keyCount) =>
        Object.entries(SAID).map(([said, outcomes]) => ({
          name: `${said}-${tenants}-${count}-${keyCount}`,
          tenants,
          names: count,
          keys: keyCount,
          outcomes,
        })),
      ),
    ),
  );
}

async function registerRings(stage: AttackStage, service: ServerProcess): Promise<Signers[]> {
  const size = { names: stage.isShort ? 5 : Math.max(...NAMES), keys: Math.max(...KEYS) };
  const rings: Signers[] = [];
  for (let at = 0; at < Math.max(...TENANTS); at++) {
    rings.push(await registerSigners(stage, service, `ring-${at}`, size));
  }
  return rings;
}

/** An agent that nobody knows, in a bureau that knows nobody. */
async function playEmpty(stage: AttackStage, cases: readonly Case[]) {
  const service = await stage.start("--no-sample");
  const bureau = new Stage(service);
  await bureau.open();
  const rings = await registerRings(stage, service);
  const broken: string[] = [];
  const unknown = await bureau.ask("agent://nobody/asked");
  let highest = unknown.score;
  for (const each of cases) {
    const subject = `agent://unknown/${each.name}`;
    for (const ring of rings.slice(0, each.tenants)) {
      await report(stage, service, ring, { ...each, subject });
    }
    const after = await bureau.ask(subject);
    highest = Math.max(highest, after.score);
    if (after.l2 === "ALLOW") broken.push(`${each.name}: an unknown agent is allowed at L2`);
  }
  await service.stop();
  return { broken, figures: { unknown_score: unknown.score, unknown_score_max: highest } };
}

/** Agents with an honest record, who all begin alike. */
async function playHonest(stage: AttackStage, cases: readonly Case[]) {
  const service = await stage.start("--no-sample");
  const bureau = new Stage(service);
  await bureau.open();
  const rings = await registerRings(stage, service);
  const broken: string[] = [];
  const figures: Record<string, number> = {};
  for (const [kind, { count, days }] of Object.entries(HONEST)) {
    for (const each of cases) {
      const subject = `agent://honest/${kind}-${each.name}`;
      const fails = (at: number) => at % 50 === 25;
      const reporter = (at: number) => `agent://buyers/b-${at % REPORTERS}`;
      await bureau.import(series(subject, count, { days, fails, reporter }));
      await bureau.report([outcomeOf(subject, "agent://ops/gateway", true, Date.now())]);
      const before = await bureau.ask(subject);
      for (const ring of rings.slice(0, each.tenants)) {
        await report(stage, service, ring, { ...each, subject });
      }
      const after = await bureau.ask(subject);
      const moved = Math.abs(after.score - before.score);
      const figure = `${kind}_points_max_${each.tenants}`;
      figures[figure] = Math.max(figures[figure] ?? 0, moved);
      if (moved > POINTS_MAX * each.tenants) {
        broken.push(`${kind} ${each.name}: from ${before.score} to ${after.score}`);
      }
      if (isDenied(after) && !isDenied(before)) broken.push(`${kind} ${each.name}: denied at L2`);
    }
  }
  await service.stop();
  return { broken, figures };
}

/** The operator vouches for one tenant: each of its names is heard. */
async function playVouched(stage: AttackStage) {
  const service = await stage.start("--no-sample");
  const names = 5;
  const size = { names, keys: 1, grant: { vouched: true } };
  const ring = await registerSigners(stage, service, "friends", size);
  const subject = "agent://unknown/praised";
  await report(stage, service, ring, { subject, outcomes: [1], names, keys: 1 });
  const reply = await stage.ask(service, `/v1/agents/${encodeURIComponent(subject)}`);
  const { evidence } = JSON.parse(reply.text) as { evidence: { outcomes: number } };
  await service.stop();
  // The tenant's unsigned word is heard once beside them.
  const heard = evidence.outcomes;
  const broken = heard === names + 1 ? [] : [`of ${names} vouched names ${heard - 1} were heard`];
  return { broken, figures: { vouched_heard: heard } };
}

const isDenied = ({ l2 }: Standing) => l2 === "QUARANTINE" || l2 === "BLOCK";

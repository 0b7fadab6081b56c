// An unvouched tenant makes others a ring, and hides its own: invented names that sign failures about honest agents
// that praise one another mark none of them, invented names that praise the members of a ring clear none.
import { type Outcome, series, Stage } from "../../../bench/attack-stage.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import type { Attack } from "../attack.ts";
import { registerSigners, report, type Signers } from "../material/signers.ts";
import type { AttackStage } from "../stage.ts";

const NAMES = 3;
const NAMES_LONG = 30;
const POSTS = 4;
const HONEST = 5;
const RING = 8;
const PRAISES = 8;
/** Outcomes about each honest agent by outsiders, and about each of the ring. */
const OUTSIDE = 80;
const OUTSIDE_RING = 20;
const MARKET = 20;
const DAYS = 60;

/** An agent as a reader of the service has it. */
interface Member {
  readonly isInRing: boolean;
  readonly hasReason: boolean;
}

export const slanderRing: Attack = {
  name: "slander-ring",
  what: "invented names slander honest agents that praise one another, and praise the members of a ring",
  async play(stage) {
    const service = await stage.start("--no-sample");
    const bureau = new Stage(service);
    await bureau.open();
    const honest = Array.from({ length: HONEST }, (_, n) => `agent://guild/g-${n}`);
    const ring = Array.from({ length: RING }, (_, n) => `agent://circle/c-${n}`);
    await bureau.import([
      ...makeGroup(honest, OUTSIDE, (at) => at % 20 === 10),
      ...makeGroup(ring, OUTSIDE_RING, (at) => at % 10 < 3),
      ...Array.from({ length: MARKET }, (_, n) =>
        makeOutsiders(`agent://market/m-${n}`, OUTSIDE, (at) => at % 20 === 5),
      ).flat(),
    ]);
    const before = await readMarks(stage, service, [...honest, ...ring]);
    const size = { names: stage.isShort ? NAMES : NAMES_LONG, keys: 1 };
    const tenant = await registerSigners(stage, service, "strangers", size);
    const broken = judge(before, honest, ring, "before");
    for (const names of stage.isShort ? [NAMES] : [NAMES, NAMES_LONG]) {
      await reportAbout(stage, service, tenant, { agents: honest, names, outcome: 0 });
      await reportAbout(stage, service, tenant, { agents: ring, names, outcome: 1 });
      const after = await readMarks(stage, service, [...honest, ...ring]);
      broken.push(...judge(after, honest, ring, `${names} names`));
    }
    await service.stop();
    return { broken, figures: { honest: honest.length, ring: ring.length, names: size.names } };
  },
};

/** Mutual praise of a group, and what outsiders say of its members. */
function makeGroup(
  members: readonly string[],
  outside: number,
  fails: (at: number) => boolean,
): Outcome[] {
  const praise = members.flatMap((by) =>
    members
      .filter((about) => about !== by)
      .flatMap((about) => series(about, PRAISES, { days: DAYS, reporter: () => by })),
  );
  return [...praise, ...members.flatMap((about) => makeOutsiders(about, outside, fails))];
}

function makeOutsiders(about: string, count: number, fails: (at: number) => boolean): Outcome[] {
  return series(about, count, { days: DAYS, fails, reporter: (at) => `agent://buyers/b-${at}` });
}

async function reportAbout(
  stage: AttackStage,
  service: ServerProcess,
  tenant: Signers,
  { agents, names, outcome }: { agents: readonly string[]; names: number; outcome: 0 | 1 },
): Promise<void> {
  const outcomes = Array.from({ length: POSTS }, () => outcome);
  for (const subject of agents) {
    await report(stage, service, tenant, { subject, outcomes, names, keys: 1 });
  }
}

/** Finds the rings of all that was reported, and reads how each agent stands. */
async function readMarks(
  stage: AttackStage,
  service: ServerProcess,
  agents: readonly string[],
): Promise<ReadonlyMap<string, Member>> {
  const found = await stage.ask(service, "/v1/kaizen/credibility", { method: "POST" });
  if (found.status !== 200) throw new Error(`the batch was answered ${found.status} ${found.text}`);
  const marks = new Map<string, Member>();
  for (const agent of agents) {
    const { text } = await stage.ask(service, `/v1/agents/${encodeURIComponent(agent)}`);
    const { standing } = JSON.parse(text) as { standing: { in_ring: boolean } };
    const body = { agent_id: agent, action: "order.place", tool_level: "L2", context: {} };
    const verdict = await stage.ask(service, "/v1/trust/verify", { body });
    if (verdict.status !== 200) throw new Error(`verify: ${verdict.status} ${verdict.text}`);
    marks.set(agent, {
      isInRing: standing.in_ring,
      hasReason: verdict.text.includes("RING_PATTERN"),
    });
  }
  return marks;
}

function judge(
  marks: ReadonlyMap<string, Member>,
  honest: readonly string[],
  ring: readonly string[],
  when: string,
): string[] {
  const isMarked = (agent: string) => marks.get(agent)!.isInRing || marks.get(agent)!.hasReason;
  return [
    ...honest.filter(isMarked).map((agent) => `${when}: honest ${agent} is marked as in a ring`),
    ...ring
      .filter((agent) => !marks.get(agent)!.isInRing)
      .map((agent) => `${when}: ${agent} of the ring is not marked`),
  ];
}

// eval:attacks: what attackers can do to a service that nobody has set up beyond its keys. The real
// service with its defaults on loopback, real API keys: a first-party one for the honest gateway,
// an ordinary one for each attacker. A table on stderr, one JSON object on the last line of stdout;
// `--smoke` posts little.
import { parseArgs } from "node:util";
import { registerReporter } from "./reporter.ts";
import { ADMIN_KEY, machine, type ServerProcess, startService } from "./server-process.ts";

const DAY_MS = 86_400_000;
const GATEWAY = "agent://ops/gateway";
const BATCH_MAX = 1000;
const RING = 20;
const ORDINARY = ["outcomes:write", "score:read"];
const LEVELS = ["L2", "L3"] as const;

interface Outcome {
  subject: string;
  reporter: string;
  outcome: 0 | 1;
  stakes: number;
  grade: "counterparty";
  settled_at: number;
}

/** An agent as verify answers for it. */
interface Standing {
  score: number;
  l2: string;
  l3: string;
}

interface Row {
  attack: string;
  agent: string;
  before: Standing;
  after: Standing;
}

const outcomeOf = (subject: string, reporter: string, success: boolean, settledAtMs: number) => {
  const outcome: 0 | 1 = success ? 1 : 0;
  return {
    subject,
    reporter,
    outcome,
    stakes: 50,
    grade: "counterparty" as const,
    settled_at: Math.floor(settledAtMs),
  };
};

/** `count` outcomes over the `days` that ended `agoDays` ago; `fails` says which are failures. */
function series(
  subject: string,
  count: number,
  { days, agoDays = 0, fails = () => false, reporter = () => GATEWAY }: SeriesOptions,
): Outcome[] {
  const fromMs = Date.now() - (agoDays + days) * DAY_MS;
  return Array.from({ length: count }, (_, i) =>
    outcomeOf(subject, reporter(i), !fails(i), fromMs + ((i + 0.5) * days * DAY_MS) / count),
  );
}

interface SeriesOptions {
  days: number;
  agoDays?: number;
  fails?: (i: number) => boolean;
  reporter?: (i: number) => string;
}

class Stage {
  readonly #service: ServerProcess;
  readonly rows: Row[] = [];
  #gatewayKey = "";

  constructor(service: ServerProcess) {
    this.#service = service;
  }

  async open(): Promise<void> {
    this.#gatewayKey = await this.makeKey("gateway", { first_party: true });
  }

  async #send(path: string, key: string, body: string, more: Record<string, string> = {}) {
    const answer = await fetch(`${this.#service.url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...more,
      },
      body,
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  async makeKey(tenant: string, more: object = {}): Promise<string> {
    const body = JSON.stringify({ tenant, scopes: ORDINARY, ...more });
    const made = await this.#send("/v1/keys", ADMIN_KEY, body);
    return ((await made.json()) as { key: string }).key;
  }

  /** History of any age, as the operator loads it. */
  async import(outcomes: readonly Outcome[]): Promise<void> {
    const body = outcomes.map((outcome) => JSON.stringify(outcome)).join("\n");
    await this.#send("/v1/outcomes/import?source=honest", ADMIN_KEY, body, {
      "content-type": "application/x-ndjson",
    });
  }

  async post(key: string, outcomes: readonly Outcome[]): Promise<void> {
    for (let at = 0; at < outcomes.length; at += BATCH_MAX) {
      const batch = outcomes.slice(at, at + BATCH_MAX);
      const answer = await this.#send("/v1/outcomes/batch", key, JSON.stringify(batch));
      const { items } = (await answer.json()) as { items: { status: number }[] };
      const refused = items.filter(({ status }) => status !== 201).length;
      if (refused > 0) throw new Error(`${refused} outcomes of a batch were not taken`);
    }
  }

  report(outcomes: readonly Outcome[]): Promise<void> {
    return this.post(this.#gatewayKey, outcomes);
  }

  async ask(agent: string): Promise<Standing> {
    const verify = async (toolLevel: (typeof LEVELS)[number]) => {
      const question = { agent_id: agent, action: "a.b", tool_level: toolLevel, context: {} };
      const path = "/v1/trust/verify";
      const answer = await this.#send(path, this.#gatewayKey, JSON.stringify(question));
      return (await answer.json()) as {
        trust_evaluation: { internal_score: number };
        policy_action: { verdict: string };
      };
    };
    const [l2, l3] = [await verify("L2"), await verify("L3")];
    return {
      score: l2.trust_evaluation.internal_score,
      l2: l2.policy_action.verdict,
      l3: l3.policy_action.verdict,
    };
  }

  /** Asks about texts that are not what their digests say; the gateway does without a key. */
  async askTexts(agent: string, count: number, key = this.#gatewayKey): Promise<void> {
    const content_hash = `sha256:${"0".repeat(64)}`;
    for (let at = 0; at < count; at += BATCH_MAX) {
      const items = Array.from({ length: Math.min(BATCH_MAX, count - at) }, (_, i) => {
        const context = { content: `invented ${at + i}`, content_hash };
        return { agent_id: agent, action: "a.b", tool_level: "L1", context };
      });
      await this.#send("/v1/trust/verify/batch", key, JSON.stringify({ items }));
    }
    // They are put on record after the answer.
    await new Promise((resolve) => setTimeout(resolve, 200));
  }

  /** Plays one attack on one agent. */
  async play(attack: string, agent: string, run: () => Promise<void>): Promise<void> {
    const before = await this.ask(agent);
    await run();
    this.rows.push({ attack, agent, before, after: await this.ask(agent) });
  }

  /** Twenty reporters, each with a registered key, praise the agent in signed batches. */
  async ring(agent: string, each: number): Promise<void> {
    const key = await this.makeKey("ring");
    const name = agent.slice(agent.lastIndexOf("/") + 1);
    for (let i = 0; i < RING; i++) {
      const reporter = `agent://ring/${name}-${i}`;
      const signer = await registerReporter(this.#service.url, ADMIN_KEY, reporter);
      if (signer === undefined) throw new Error("the service has no reporter keys");
      const praise = series(agent, each, { days: 5, reporter: () => reporter });
      const body = JSON.stringify(praise);
      await this.#send("/v1/outcomes/batch", key, body, { "x-jws-signature": signer.sign(body) });
    }
  }
}

/** Agents that the honest gateway has reported on, alone (one by thirty buyers), for 60 days. */
async function buildHistory(stage: Stage): Promise<void> {
  const agents: [name: string, count: number, fails: (i: number) => boolean][] = [
    ["hundred", 100, (i) => i === 40],
    ["flawless", 100, () => false],
    ["regular", 260, (i) => i % 87 === 50],
    ["failing", 100, () => true],
    ["poor", 100, (i) => i >= 60 || i % 4 === 0],
    ["builder", 300, () => false],
    ["thousand", 1000, () => false],
  ];
  for (const [name, count, fails] of agents) {
    await stage.import(series(`agent://eval/${name}`, count, { days: 60, fails }));
  }
  const buyers = (i: number) => `agent://market/buyer-${i % 30}`;
  const blocked = { days: 60, fails: () => true, reporter: buyers };
  await stage.import(series("agent://eval/blocked", 300, blocked));
  const other = await stage.makeKey("other");
  await stage.post(other, series("agent://eval/strangers-only", 100, { days: 6 }));
}

/** Slander and praise from one ordinary key, each report in another name. */
async function playNames(stage: Stage, posts: number): Promise<void> {
  const names = (i: number) => `agent://invented/r${i}`;
  const flood = (agent: string, isPraise: boolean) => async () => {
    const key = await stage.makeKey("attacker");
    const fails = () => !isPraise;
    await stage.post(key, series(agent, posts, { days: 6, fails, reporter: names }));
  };
  const victims = ["hundred", "flawless", "regular", "thousand", "strangers-only", "unknown-a"];
  for (const name of victims) {
    const agent = `agent://eval/${name}`;
    await stage.play("slander, one key", agent, flood(agent, false));
  }
  for (const name of ["blocked", "failing", "poor", "hundred", "strangers-only", "unknown-b"]) {
    const agent = `agent://eval/${name}`;
    await stage.play("praise, one key", agent, flood(agent, true));
  }
}

async function playTexts(stage: Stage, count: number): Promise<void> {
  const key = await stage.makeKey("asker");
  for (const agent of ["agent://eval/regular", "agent://eval/unknown-d"]) {
    await stage.play("invented texts, one key", agent, () => stage.askTexts(agent, count, key));
    await stage.play("failed texts, the gateway", agent, () => stage.askTexts(agent, count));
  }
}

async function playCheats(stage: Stage): Promise<void> {
  for (const name of ["blocked", "failing", "unknown-c"]) {
    const agent = `agent://eval/${name}`;
    await stage.play("signed ring of 20, 5 each", agent, () => stage.ring(agent, 5));
  }
  const builder = "agent://eval/builder";
  const cheat = (from: number, count: number) => () =>
    stage.report(series(builder, count, { days: 0.1, agoDays: from, fails: () => true }));
  await stage.play("300 good, then 3 failures", builder, cheat(0.9, 3));
  await stage.play("and 7 more", builder, cheat(0.7, 7));
  await stage.play("and 20 more", builder, cheat(0.5, 20));
  await playOnOff(stage);
}

/** Good and bad phases in turn; each row is an agent whose last phase ends now. */
async function playOnOff(stage: Stage): Promise<void> {
  const phases = [
    { days: 30, count: 150, isGood: true },
    { days: 2, count: 10, isGood: false },
    { days: 13, count: 65, isGood: true },
    { days: 2, count: 10, isGood: false },
    { days: 16, count: 80, isGood: true },
    { days: 2, count: 10, isGood: false },
  ];
  for (let last = 1; last < phases.length; last++) {
    const agent = `agent://eval/on-off-${last}`;
    const play = (index: number) => {
      const { days, count, isGood } = phases[index]!;
      const later = phases.slice(index + 1, last + 1);
      const agoDays = later.reduce((sum, phase) => sum + phase.days, 0);
      return stage.import(series(agent, count, { days, agoDays, fails: () => !isGood }));
    };
    for (let index = 0; index < last; index++) await play(index);
    const { days, count, isGood } = phases[last]!;
    const what = isGood ? "on again" : "off";
    const attack = `on/off: ${what}, ${count} in ${days} days`;
    await stage.play(attack, agent, () => play(last));
  }
}

function print(rows: readonly Row[]): void {
  const lines = rows.map(({ attack, agent, before, after }) => [
    attack,
    agent.slice(agent.lastIndexOf("/") + 1),
    before.score,
    after.score,
    `${before.l2}, ${after.l2}`,
    `${before.l3}, ${after.l3}`,
  ]);
  const head = ["attack", "agent", "score before", "after", "L2 before, after", "L3 before, after"];
  const rule = head.map(() => "---");
  for (const line of [head, rule, ...lines]) process.stderr.write(`| ${line.join(" | ")} |\n`);
}

const { values } = parseArgs({ options: { smoke: { type: "boolean", default: false } } });
const posts = values.smoke ? 40 : 2000;
const service = await startService("--no-sample");
try {
  const stage = new Stage(service);
  await stage.open();
  await buildHistory(stage);
  await playNames(stage, posts);
  await playTexts(stage, posts);
  await playCheats(stage);
  print(stage.rows);
  const moved = stage.rows
    .filter(({ attack }) => attack.endsWith("one key"))
    .map(({ before, after }) => Math.abs(after.score - before.score));
  const most = Math.max(...moved);
  const figures = { machine: machine(), posts, one_key_points_max: most, rows: stage.rows };
  console.log(JSON.stringify(figures));
} finally {
  await service.stop();
}

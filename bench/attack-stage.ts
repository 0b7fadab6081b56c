// Stage of the attack scripts (bench -- eval:attacks): the real service with its defaults on loopback, keys as
// an operator makes them, histories by import, and agents as verify and check answer for them.
import { registerReporter } from "./reporter.ts";
import { ADMIN_KEY, type ServerProcess } from "./server-process.ts";

export const DAY_MS = 86_400_000;
const GATEWAY = "agent://ops/gateway";
const BATCH_MAX = 1000;
const RING = 20;
const ORDINARY = ["outcomes:write", "score:read"];
const LEVELS = ["L2", "L3"] as const;

export interface Outcome {
  subject: string;
  reporter: string;
  outcome: 0 | 1;
  stakes: number;
  grade: "counterparty";
  settled_at: number;
}

/** An agent as verify answers for it. */
export interface Standing {
  score: number;
  l2: string;
  l3: string;
}

export interface Row {
  attack: string;
  agent: string;
  before: Standing;
  after: Standing;
}

/** One outcome at stakes of 50; `settledAtMs` is epoch ms. */
export const outcomeOf = (
  subject: string,
  reporter: string,
  success: boolean,
  settledAtMs: number,
) => {
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
export function series(
  subject: string,
  count: number,
  { days, agoDays = 0, fails = () => false, reporter = () => GATEWAY }: SeriesOptions,
): Outcome[] {
  const fromMs = Date.now() - (agoDays + days) * DAY_MS;
  return Array.from({ length: count }, (_, i) =>
    outcomeOf(subject, reporter(i), !fails(i), fromMs + ((i + 0.5) * days * DAY_MS) / count),
  );
}

export interface SeriesOptions {
  days: number;
  agoDays?: number;
  fails?: (i: number) => boolean;
  reporter?: (i: number) => string;
}

/** Source of the texts that are asked about. */
const REPORT = {
  source_id: "doc:attack-stage",
  text: "Acme Corp reported revenue of 4.2 million dollars in 2023. It employs 310 people.",
  visibility: "public",
};

export class Stage {
  readonly #service: ServerProcess;
  readonly rows: Row[] = [];
  #gatewayKey = "";

  constructor(service: ServerProcess) {
    this.#service = service;
  }

  async open(): Promise<void> {
    this.#gatewayKey = await this.makeKey("gateway", { first_party: true });
    await this.#send("/v1/evidence", ADMIN_KEY, JSON.stringify({ items: [REPORT] }));
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
      const question = {
        agent_id: agent,
        action: "order.place",
        tool_level: toolLevel,
        context: {},
      };
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

  /** Decision of check at stakes, and the largest stakes that it holds for. */
  async check(agent: string, stakes: number) {
    const question = JSON.stringify({ subject: agent, stakes, reserve: false });
    const answer = await this.#send("/v1/check", this.#gatewayKey, question);
    return (await answer.json()) as { decision: string; max_stakes: number | null };
  }

  /** Median score of the agents. */
  async median(agents: readonly string[]): Promise<number> {
    const scores: number[] = [];
    for (const agent of agents) scores.push((await this.ask(agent)).score);
    return scores.toSorted((a, b) => a - b)[Math.floor(scores.length / 2)]!;
  }

  /** A key that the reporter signs with, made by the operator. */
  async signer(reporter: string) {
    const signer = await registerReporter(this.#service.url, ADMIN_KEY, reporter);
    if (signer === undefined) throw new Error("the service has no reporter keys");
    return signer;
  }

  /** One batch under a reporter's own signature. */
  async postSigned(
    key: string,
    signer: Awaited<ReturnType<Stage["signer"]>>,
    outcomes: readonly Outcome[],
  ): Promise<void> {
    const body = JSON.stringify(outcomes);
    await this.#send("/v1/outcomes/batch", key, body, { "x-jws-signature": signer.sign(body) });
  }

  /** Asks about texts with a number that their source has otherwise; the gateway does without a key. */
  async askTexts(agent: string, count: number, key = this.#gatewayKey): Promise<void> {
    for (let at = 0; at < count; at += BATCH_MAX) {
      const items = Array.from({ length: Math.min(BATCH_MAX, count - at) }, (_, i) => {
        const content = `Acme Corp reported revenue of ${1000 + at + i} million dollars in 2023.`;
        const context = { content, cited_sources: [REPORT.source_id] };
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

  /** Twenty reporters, each with a registered key in a namespace without an owner, praise in signed batches. */
  async ring(agent: string, each: number): Promise<void> {
    const key = await this.makeKey("ring");
    const name = agent.slice(agent.lastIndexOf("/") + 1);
    for (let i = 0; i < RING; i++) {
      const reporter = `agent://ring/${name}-${i}`;
      const signer = await this.signer(reporter);
      await this.postSigned(
        key,
        signer,
        series(agent, each, { days: 5, reporter: () => reporter }),
      );
    }
  }
}

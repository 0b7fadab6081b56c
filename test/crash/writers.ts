// Eight reporters that never give up: each outcome has an id and a body of its own and is sent
// again until it is acknowledged, across every crash. Acknowledged outcomes are kept here, outside
// the process that dies.
import type { OutcomeReceipt } from "../../src/contract/schemas/outcomes.ts";
import type { CrashServer } from "./server.ts";

export const WRITERS = 8;
export const AGENTS = 48;
/** One in so many is sent once more after its acknowledgement. */
const REPEAT_EVERY = 16;
/** After one in so many, a text of its subject is asked about that fails for certain. */
const ASK_EVERY = 8;
const REFUSED_WAIT_MS = 20;

export interface Acknowledged {
  readonly outcomeId: string;
  readonly position: number;
}

export class Writers {
  readonly acknowledged = new Map<string, Acknowledged>();
  /** Answers that break a promise; empty when all is well. */
  readonly broken: string[] = [];
  /** Answers other than an acknowledgement, by status. */
  readonly refused = new Map<number, number>();
  readonly #unanswered: number[] = [];
  #next = 0;
  #isStopping = false;
  #loops: Promise<void>[] = [];

  start(server: CrashServer): void {
    this.#isStopping = false;
    this.#loops = Array.from({ length: WRITERS }, () => this.#write(server));
  }

  /** Lets what is in flight end. Returns at once when the server is gone. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#loops);
  }

  async #write(server: CrashServer): Promise<void> {
    while (!this.#isStopping) {
      const number = this.#unanswered.shift() ?? this.#next++;
      try {
        const isDone = await this.#send(server, number);
        if (!isDone) this.#unanswered.push(number);
        if (isDone && number % REPEAT_EVERY === 0) await this.#send(server, number);
        if (number % ASK_EVERY === 0) await this.#ask(server, number);
        if (!isDone) await new Promise((resolve) => setTimeout(resolve, REFUSED_WAIT_MS));
      } catch {
        // The connection broke: nobody knows whether it was recorded, so it is sent again.
        if (!this.acknowledged.has(idOf(number))) this.#unanswered.push(number);
        return;
      }
    }
  }

  async #send(server: CrashServer, number: number): Promise<boolean> {
    const { status, body } = await server.post("/v1/outcomes", bodyOf(number));
    if (status !== 200 && status !== 201) {
      this.refused.set(status, (this.refused.get(status) ?? 0) + 1);
      if (status !== 503) this.broken.push(`${idOf(number)}: answered ${status}`);
      return false;
    }
    const { outcome_id: outcomeId, position, duplicate } = body as OutcomeReceipt;
    const before = this.acknowledged.get(idOf(number));
    if (before === undefined) this.acknowledged.set(idOf(number), { outcomeId, position });
    else if (before.outcomeId !== outcomeId || !duplicate) {
      this.broken.push(`${idOf(number)}: acknowledged as ${before.outcomeId} and ${outcomeId}`);
    }
    return true;
  }

  /** Nothing is promised of what a verdict leaves behind but that it is whole or not there. */
  async #ask(server: CrashServer, number: number): Promise<void> {
    // With the agents' cycle, a text of an agent comes back after a while.
    const content = `text ${number % 64}`;
    const context = { content, cited_sources: ["isbn:9780306406158"] };
    const agent_id = agentOf((number * 7) % AGENTS);
    const asked = { agent_id, action: "a.b", tool_level: "L1", context };
    const { status } = await server.post("/v1/trust/verify", JSON.stringify(asked));
    if (status !== 200) this.broken.push(`a verify was answered ${status}`);
  }
}

function idOf(number: number): string {
  return `crash-${number}`;
}

/** The same number is always the same body: a repeat must be recognised. */
function bodyOf(number: number): string {
  const subject = (number * 7) % AGENTS;
  // Never the subject itself: the step is below the number of agents.
  const reporter = subject + 1 + ((number * 11) % (AGENTS - 1));
  return JSON.stringify({
    subject: agentOf(subject),
    reporter: agentOf(reporter),
    outcome: number % 6 === 0 ? 0 : 1,
    stakes: 1 + (number % 400),
    grade: number % 3 === 0 ? "escrow" : "counterparty",
    id: idOf(number),
  });
}

export function agentOf(number: number): string {
  return `agent://crash/${number % AGENTS}`;
}

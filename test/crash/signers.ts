// Reporters that sign: each takes a new key, signs many outcomes with it, and has it revoked as
// compromised. Acknowledged outcomes are kept here, outside the process that dies.
import {
  generateSigningKey,
  type OutcomeSigner,
  type SigningKeyPair,
} from "../../src/client/reporting/sign.ts";
import { registerSigningKey } from "../../src/client/reporting/reporter-key.ts";
import type { OutcomeReceipt } from "../../src/contract/schemas/outcomes.ts";
import type { CrashServer } from "./server.ts";
import { type Acknowledged, AGENTS, agentOf } from "./writers.ts";

/** Each agent takes at most 64 keys. */
const SIGNERS = 8;
const ROWS = 1000;
const WITNESS_EVERY = 20;
/** Outcomes about the witness in each signed batch. */
export const WITNESSED_PER_BATCH = ROWS / WITNESS_EVERY;
/** Whom all keys report on and nobody else does: tells the one table from the other. */
export const WITNESS = "agent://crash/witness";

/** A key of a reporter, with what it signed by now. */
export interface SignedKey {
  readonly agent: string;
  readonly kid: string;
  /** Epoch ms: a moment before its first outcome, and one between two of its batches. */
  readonly moments: readonly number[];
}

export function signerOf(number: number): string {
  return `agent://signers/${number % SIGNERS}`;
}

export const SIGNER_IDS: readonly string[] = Array.from({ length: SIGNERS }, (_, at) =>
  signerOf(at),
);

export class Signers {
  readonly acknowledged = new Map<string, Acknowledged>();
  #rows = 0;

  /** Unsigned history, so that a fold of the journal takes its time. */
  async fill(server: CrashServer, count: number): Promise<void> {
    for (let from = 0; from < count; from += ROWS) {
      await this.#send(server, (at) => rowOf(at));
    }
  }

  /** A new key of reporter `number` that has signed `batches` of a thousand outcomes. */
  async sign(server: CrashServer, number: number, batches: number): Promise<SignedKey> {
    const agent = signerOf(number);
    const { keyPair } = await generateSigningKey();
    const signer = await register(server, agent, keyPair);
    const moments: number[] = [];
    for (let batch = 0; batch < batches; batch++) {
      moments.push(await nextMoment());
      await this.#send(server, (at) => rowOf(at, agent), signer);
    }
    return { agent, kid: signer.kid, moments };
  }

  /** Resolves once the revocation was answered; rejects when the connection broke. */
  async revoke(server: CrashServer, { agent, kid }: SignedKey, sinceMs: number): Promise<void> {
    const path = `/v1/agents/${encodeURIComponent(agent)}/keys/revoke`;
    const body = JSON.stringify({ kid, compromised_since: sinceMs });
    const { status } = await server.post(path, body);
    if (status !== 200) throw new RangeError(`a revocation was answered ${status}`);
  }

  async #send(server: CrashServer, row: (at: number) => object, signer?: OutcomeSigner) {
    const first = this.#rows;
    this.#rows += ROWS;
    const body = JSON.stringify(Array.from({ length: ROWS }, (_, at) => row(first + at)));
    const signature = await signer?.sign(body);
    const answer = await server.post("/v1/outcomes/batch", body, signature);
    const { items = [] } = answer.body as { items?: { status: number; result: OutcomeReceipt }[] };
    for (let at = 0; at < ROWS; at++) {
      const { status, result } = items[at] ?? { status: answer.status };
      if (status !== 201 || result === undefined)
        throw new RangeError(`a row was answered ${status}`);
      const { outcome_id: outcomeId, position } = result;
      this.acknowledged.set(`signed-${first + at}`, { outcomeId, position });
    }
  }
}

/** The same number is always the same row; without a signer another agent reports. */
function rowOf(at: number, signer?: string): object {
  const subject = (at * 13 + Math.floor(at / AGENTS)) % AGENTS;
  const isWitness = signer !== undefined && at % WITNESS_EVERY === 0;
  return {
    subject: isWitness ? WITNESS : agentOf(subject),
    // Never the subject itself: the step is below the number of agents.
    reporter: signer ?? agentOf(subject + 1 + ((at * 5) % (AGENTS - 1))),
    outcome: at % 5 === 0 ? 0 : 1,
    stakes: 1 + (at % 300),
    grade: at % 2 === 0 ? "escrow" : "counterparty",
    id: `signed-${at}`,
  };
}

function register(
  server: CrashServer,
  agentId: string,
  keyPair: SigningKeyPair,
): Promise<OutcomeSigner> {
  return registerSigningKey({ agentId, keyPair }, async (method, path, document) => {
    const body = JSON.stringify(document);
    const answer = await (method === "PUT" ? server.put(path, body) : server.post(path, body));
    return { value: answer.body };
  });
}

/** A millisecond that no outcome before it was recorded in. */
async function nextMoment(): Promise<number> {
  const before = Date.now();
  while (Date.now() === before) await new Promise((resolve) => setImmediate(resolve));
  return Date.now();
}

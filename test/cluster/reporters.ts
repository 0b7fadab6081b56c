// Reporters of a chaos run: at every node some, each with one outcome or one batch under way. What is not
// acknowledged is sent again under the same id, to the next node, as a client behind a balancer does. Ids
// are shared among the nodes, and a few are used for another content.
import { setTimeout as wait } from "node:timers/promises";
import { ADMIN_KEY } from "../../bench/server-process.ts";
import type { Acknowledged } from "./history.ts";

const LANES_PER_NODE = 5;
const TRY_MS = 2500;
/** A node that is asked for so long without an acknowledgement has not come back. */
const PROBE_MS_MAX = 120_000;
/** Between two tries of the same outcome. */
const AGAIN_MS = 200;
/** Between two reports of a lane, ms. */
const PAUSE_MS = 15;
const SHARED_IDS = 3000;
const SHARED_SHARE = 0.7;
const CONTRARY_SHARE = 0.03;
/** Of those with an id of their own, so many are about a newcomer and read back at once. */
const READ_BACK_SHARE = 0.2;
const BATCH_SHARE = 0.05;
const BATCH = 20;
const SELLERS = 503;
const BUYERS = 211;
const HEADERS = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };

interface Offer {
  /** Empty for an outcome that is sent once. */
  readonly id: string;
  readonly isInHeader: boolean;
  readonly stakes: number;
  readonly subject: string;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

interface BatchBody {
  readonly items: readonly { status: number; result?: Receipt }[];
}

interface Receipt {
  readonly outcome_id: string;
  readonly position: number;
}

export class Reporters {
  readonly acknowledged: Acknowledged[] = [];
  readonly wrong: string[] = [];
  /** Answers other than an acknowledgement, by status; 0 for none. */
  readonly refused = new Map<number, number>();
  /** Sent once without an id, and not answered: nobody knows. */
  unknown = 0;
  readBack = 0;
  /** The acknowledgement that took longest. */
  slowest = { ms: 0, what: "", tries: "", sinceStartMs: 0 };
  readonly #urls: readonly string[];
  readonly #random: () => number;
  readonly #run: string;
  readonly #pauseMs: number;
  #number = 0;
  #isStopping = false;
  readonly #startedAt = performance.now();
  #lanes: Promise<void>[] = [];

  constructor(urls: readonly string[], random: () => number, run: string, pauseMs = PAUSE_MS) {
    this.#urls = urls;
    this.#random = random;
    this.#run = run;
    this.#pauseMs = pauseMs;
  }

  start(): void {
    this.#lanes = this.#urls.flatMap((_, node) =>
      Array.from({ length: LANES_PER_NODE }, () => this.#report(node)),
    );
  }

  /** Resolves once every outcome under way has its receipt. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#lanes);
  }

  /** Resolves once every node has acknowledged an outcome, each tried at it alone. */
  async probe(): Promise<void> {
    await Promise.all(
      this.#urls.map(async (_, node) => {
        const offer = offerOf(`${this.#run}-probe-${this.#number}`, true, this.#number++);
        const headers = { ...HEADERS, "idempotency-key": offer.id };
        const invokedMs = performance.now();
        for (let heard; heard?.node !== node;) {
          if (performance.now() - invokedMs > PROBE_MS_MAX)
            throw new Error(`node ${node + 1} acknowledges nothing, after ${PROBE_MS_MAX} ms`);
          heard = await this.#sent("/v1/outcomes", headers, offer.body, node, 1);
          if (heard === undefined) continue;
          this.#take(offer, heard.answer.status, heard.answer.body as Receipt, invokedMs, node);
        }
      }),
    );
  }

  /** Longest time in ms without an acknowledgement since then. */
  pauseSince(sinceMs: number): number {
    let last = sinceMs;
    let longest = 0;
    for (const { answeredMs } of this.acknowledged) {
      longest = Math.max(longest, answeredMs - Math.max(last, sinceMs));
      last = Math.max(last, answeredMs);
    }
    return Math.max(longest, performance.now() - last);
  }

  async #report(home: number): Promise<void> {
    while (!this.#isStopping) {
      await (this.#random() < BATCH_SHARE ? this.#batch(home) : this.#single(home));
      await wait(this.#pauseMs);
    }
  }

  async #single(home: number): Promise<void> {
    const offer = this.#offer();
    const headers = { ...HEADERS, ...(offer.isInHeader && { "idempotency-key": offer.id }) };
    const invokedMs = performance.now();
    const tries = offer.id === "" ? 1 : Number.POSITIVE_INFINITY;
    const heard = await this.#sent("/v1/outcomes", headers, offer.body, home, tries);
    if (heard === undefined) {
      this.unknown++;
      return;
    }
    this.#take(offer, heard.answer.status, heard.answer.body as Receipt, invokedMs, heard.node);
    if (offer.subject.startsWith("agent://new/")) await this.#lookUp(offer.subject, heard.node);
  }

  async #batch(home: number): Promise<void> {
    const offers = Array.from({ length: BATCH }, () => this.#offer(true));
    const invokedMs = performance.now();
    const body = `[${offers.map((offer) => offer.body).join(",")}]`;
    const heard = await this.#sent(
      "/v1/outcomes/batch",
      HEADERS,
      body,
      home,
      Number.POSITIVE_INFINITY,
    );
    const { items } = heard!.answer.body as BatchBody;
    for (const [at, item] of items.entries()) {
      // Those are offered again with the next batch or single of the same id, or never.
      if (item.status === 503) this.#count(503);
      else this.#take(offers[at]!, item.status, item.result, invokedMs, heard!.node);
    }
  }

  /** Tries until it is taken or refused for good. */
  async #sent(
    path: string,
    headers: Record<string, string>,
    body: string,
    home: number,
    tries: number,
  ) {
    const startedAt = performance.now();
    const told: string[] = [];
    for (let at = 0; at < tries; at++) {
      const node = (home + at) % this.#urls.length;
      const answer = await ask(this.#urls[node]! + path, { method: "POST", headers, body });
      const ms = Math.round(performance.now() - startedAt);
      told.push(`${node + 1}:${answer?.status ?? "none"}@${ms}`);
      if (answer !== undefined && answer.status < 500) {
        this.#time(ms, path, told);
        return { answer, node };
      }
      this.#count(answer?.status ?? 0);
      await wait(AGAIN_MS);
    }
    return undefined;
  }

  #take(
    offer: Offer,
    status: number,
    receipt: Receipt | undefined,
    invokedMs: number,
    node: number,
  ): void {
    const verdict = VERDICTS[status];
    if (verdict === undefined) {
      this.wrong.push(`${offer.id} was answered ${status}: ${JSON.stringify(receipt)}`);
      return;
    }
    const answeredMs = performance.now();
    const isReceipt = verdict !== "conflict" && receipt !== undefined;
    const [outcomeId, position] = isReceipt ? [receipt.outcome_id, receipt.position] : ["", 0];
    const { id, stakes } = offer;
    this.acknowledged.push({
      verdict,
      id,
      stakes,
      outcomeId,
      position,
      invokedMs,
      answeredMs,
      node,
    });
  }

  /** The node that acknowledged it knows of it. */
  async #lookUp(subject: string, node: number): Promise<void> {
    const path = `/v1/agents/${encodeURIComponent(subject)}`;
    const answer = await ask(this.#urls[node]! + path, { headers: HEADERS });
    if (answer === undefined || answer.status >= 500) return;
    this.readBack++;
    if (!isKnown(answer)) {
      this.wrong.push(
        `node ${node + 1} acknowledged an outcome of ${subject} and does not know it`,
      );
    }
  }

  #offer(isInBatch = false): Offer {
    const random = this.#random;
    const number = this.#number++;
    const draw = random();
    const isInHeader = !isInBatch && random() < 0.5;
    // A key of the header and an id of the body are two names, whatever they say.
    const run = `${this.#run}-${isInHeader ? "header" : "body"}`;
    if (draw < SHARED_SHARE) {
      const key = Math.floor(random() * SHARED_IDS);
      return offerOf(`${run}-order-${key}`, isInHeader, key, random() < CONTRARY_SHARE);
    }
    const isOwn = isInBatch || draw < SHARED_SHARE + (1 - SHARED_SHARE) / 2;
    if (!isOwn) return offerOf("", false, number);
    const isNew = !isInBatch && random() < READ_BACK_SHARE;
    const newcomer = isNew ? `agent://new/${this.#run}-${number}` : undefined;
    return offerOf(`${run}-own-${number}`, isInHeader, number, false, newcomer);
  }

  #time(ms: number, what: string, tries: readonly string[]): void {
    if (ms <= this.slowest.ms) return;
    const sinceStartMs = Math.round(performance.now() - this.#startedAt) - ms;
    this.slowest = { ms, what, tries: tries.join(" "), sinceStartMs };
  }

  #count(status: number): void {
    this.refused.set(status, (this.refused.get(status) ?? 0) + 1);
  }
}

const VERDICTS: Record<number, Acknowledged["verdict"]> = {
  200: "duplicate",
  201: "recorded",
  409: "conflict",
};

function offerOf(
  id: string,
  isInHeader: boolean,
  key: number,
  isContrary = false,
  newcomer?: string,
): Offer {
  const subject = newcomer ?? sellerOf(key);
  const stakes = (key % 97) + 1 + (isContrary ? 1000 : 0);
  const body = {
    subject,
    reporter: `agent://shop/buyer-${key % BUYERS}`,
    outcome: key % 5 === 0 ? 0 : 1,
    stakes,
    grade: "counterparty",
    ...(id !== "" && !isInHeader && { id }),
  };
  return { id, isInHeader, stakes, subject, body: JSON.stringify(body) };
}

function sellerOf(key: number): string {
  return `agent://shop/seller-${key % SELLERS}`;
}

/** Every agent that nodes are compared by. */
export const AGENTS: readonly string[] = [
  ...Array.from({ length: SELLERS }, (_, at) => sellerOf(at)),
  ...Array.from({ length: BUYERS }, (_, at) => `agent://shop/buyer-${at}`),
];

function isKnown({ status, body }: Answer): boolean {
  return status === 200 && (body as { known?: boolean }).known === true;
}

/** Undefined when nothing came back in time. */
export async function ask(url: string, init: RequestInit): Promise<Answer | undefined> {
  try {
    const reply = await fetch(url, { ...init, signal: AbortSignal.timeout(TRY_MS) });
    return { status: reply.status, body: await reply.json() };
  } catch {
    return undefined;
  }
}

/** What a node has counted of an agent. */
export async function evidenceOf(url: string, agent: string): Promise<Record<string, unknown>> {
  const path = `/v1/agents/${encodeURIComponent(agent)}`;
  const answer = await ask(url + path, { headers: HEADERS });
  return (answer?.body as { evidence?: Record<string, unknown> } | undefined)?.evidence ?? {};
}

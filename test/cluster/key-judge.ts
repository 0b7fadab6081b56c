// Judge of what nodes answer to API keys during a long fault: one key that is revoked as the fault begins, one that
// stays valid. A question counts by the moment at which it was begun, by this process's monotonic clock.
import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { until } from "./parts.ts";
import { createKey, revoke } from "./revoked-key.ts";

/** Bounds that docs/operate/cluster.md promises: of requests with a key, and of reads of scores. */
const KEY_BOUND_MS = 10_000;
const SCORE_BOUND_MS = 30_000;
/** A wait of one timer of a busy machine between the last proof and the beginning of the fault. */
const PAUSE_MS = 8;
const ANSWER_MS = 5000;
const BEHIND = 503;
const SHOWN_MAX = 5;

export interface KeyFigures {
  /** Score reads answered by a node without a majority, begun more than 30 s after it lost it. */
  stale: number;
  /** Questions that were judged so. */
  staleOf: number;
  /** Answers to a revoked key, or to any key by a node without a majority, begun more than 10 s later. */
  wrongKeys: number;
  wrongKeysOf: number;
  /** 503 to the valid key by a node that reaches a majority. */
  refusedFresh: number;
  freshOf: number;
  /** Sentences about the first of each kind. */
  readonly shown: string[];
}

export function createKeyFigures(): KeyFigures {
  return {
    stale: 0,
    staleOf: 0,
    wrongKeys: 0,
    wrongKeysOf: 0,
    refusedFresh: 0,
    freshOf: 0,
    shown: [],
  };
}

/** A fault as it is judged. */
export interface JudgedFault {
  readonly name: string;
  /** Nodes that reach no majority of the log's servers. */
  readonly isolated: readonly number[];
  /** Nodes that reach one all the time; a key is revoked at the first of them. */
  readonly connected: readonly number[];
}

interface Question {
  readonly node: number;
  readonly isRevoked: boolean;
  /** A read of a score; else of the key's own usage. */
  readonly isScore: boolean;
}

interface Answered {
  readonly begunAt: number;
  readonly answeredAt: number;
  /** 0: none. */
  readonly status: number;
}

export class KeyJudge {
  readonly #urls: readonly string[];
  readonly #fault: JudgedFault;
  readonly #figures: KeyFigures;
  readonly #agent = new Agent({ keepAlive: true });
  #keys = { valid: "", revoked: "", revokedId: "" };
  #begunAt = Number.POSITIVE_INFINITY;
  #revokedAt = Number.POSITIVE_INFINITY;
  #mendedAt = Number.POSITIVE_INFINITY;
  #isOver = false;
  #lanes: Promise<void>[] = [];

  constructor(urls: readonly string[], fault: JudgedFault, figures: KeyFigures) {
    this.#urls = urls;
    this.#fault = fault;
    this.#figures = figures;
  }

  /** Makes the keys, and resolves once every node answers both. */
  async prepare(): Promise<void> {
    const at = this.#urls[this.#fault.connected[0] ?? 0]!;
    const [valid, revoked] = [await createKey(at), await createKey(at)];
    this.#keys = { valid: valid.key, revoked: revoked.key, revokedId: revoked.keyId };
    for (const node of this.#urls.keys()) {
      for (const isRevoked of [false, true]) {
        await until(
          async () => (await this.#ask({ node, isRevoked, isScore: true })).status === 200,
          `node ${node + 1} does not take a new key`,
        );
      }
    }
  }

  /** Call when the fault has begun. A key is revoked where a node is connected. */
  async begin(): Promise<void> {
    this.#begunAt = performance.now();
    for (const node of this.#urls.keys()) {
      for (const isRevoked of [false, true]) {
        for (const isScore of [false, true]) {
          this.#lanes.push(this.#askRepeatedly({ node, isRevoked, isScore }));
        }
      }
    }
    const { connected } = this.#fault;
    if (connected.length === 0) return;
    // An election may be under way, or the node be connected to a server that has lost the others.
    const untilMs = performance.now() + SCORE_BOUND_MS;
    for (let turn = 0; performance.now() < untilMs; turn++) {
      const node = connected[turn % connected.length]!;
      const isRevoked = await revoke(this.#urls[node]!, this.#keys.revokedId).then(
        () => true,
        () => false,
      );
      if (isRevoked) {
        this.#revokedAt = performance.now();
        return;
      }
      await wait(200);
    }
    this.#figures.shown.push(`${this.#fault.name}: no node revoked the key`);
  }

  /** Call before the fault is mended. */
  end(): void {
    this.#mendedAt = performance.now();
  }

  /** Asks on for a moment: what was sent to a frozen node is answered now. */
  async close(): Promise<void> {
    await wait(3000);
    this.#isOver = true;
    await Promise.all(this.#lanes);
    this.#agent.destroy();
  }

  async #askRepeatedly(question: Question): Promise<void> {
    while (!this.#isOver) {
      this.#judge(question, await this.#ask(question));
      await wait(PAUSE_MS);
    }
  }

  #judge({ node, isRevoked, isScore }: Question, answered: Answered): void {
    const { begunAt, answeredAt, status } = answered;
    const { isolated, connected, name } = this.#fault;
    const what = `${name}: node ${node + 1}, ${isScore ? "score" : "usage"} with the ${isRevoked ? "revoked" : "valid"} key, begun`;
    const isBefore = answeredAt < this.#mendedAt;
    const bound = isScore ? SCORE_BOUND_MS : KEY_BOUND_MS;
    const cutMs = begunAt - this.#begunAt;
    if (isolated.includes(node) && isBefore && cutMs > bound) {
      const isWrong = status === 200;
      const told = `${what} ${Math.round(cutMs)} ms after the cut: ${status}`;
      if (isScore) this.#count("stale", "staleOf", isWrong, told);
      else this.#count("wrongKeys", "wrongKeysOf", isWrong, told);
    }
    const revokedMs = begunAt - this.#revokedAt;
    if (isRevoked && revokedMs > bound) {
      const told = `${what} ${Math.round(revokedMs)} ms after the revocation: ${status}`;
      this.#count("wrongKeys", "wrongKeysOf", status === 200, told);
    }
    if (!isRevoked && isBefore && cutMs > 0 && connected.includes(node)) {
      const told = `${what} ${Math.round(cutMs)} ms after the beginning: ${status}`;
      this.#count("refusedFresh", "freshOf", status === BEHIND, told);
    }
  }

  #count(
    bad: "stale" | "wrongKeys" | "refusedFresh",
    of: "staleOf" | "wrongKeysOf" | "freshOf",
    isBad: boolean,
    sentence: string,
  ): void {
    this.#figures[of]++;
    if (!isBad) return;
    this.#figures[bad]++;
    if (this.#figures[bad] <= SHOWN_MAX) this.#figures.shown.push(sentence);
  }

  #ask({ node, isRevoked, isScore }: Question): Promise<Answered> {
    const { valid, revoked } = this.#keys;
    const headers = {
      authorization: `Bearer ${isRevoked ? revoked : valid}`,
      "content-type": "application/json",
    };
    const [method, path, body] = isScore
      ? ["POST", "/v1/trust/verify", VERIFY]
      : ["GET", "/v1/usage", undefined];
    const begunAt = performance.now();
    return new Promise((resolve) => {
      const end = (status: number) => resolve({ begunAt, answeredAt: performance.now(), status });
      const options = { agent: this.#agent, method, headers, timeout: ANSWER_MS };
      const sent = request(this.#urls[node]! + path, options, (reply) => {
        reply
          .resume()
          .on("end", () => end(reply.statusCode!))
          .on("error", () => end(0));
      });
      sent.on("timeout", () => sent.destroy());
      sent.on("error", () => end(0));
      sent.end(body);
    });
  }
}

const VERIFY = JSON.stringify({
  agent_id: "agent://shop/seller-1",
  action: "shop.purchase",
  tool_level: "L1",
  context: {},
});

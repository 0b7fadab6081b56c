// Poll of security event tokens from one transmitter (RFC 8936): every ten seconds, until it has no more. What was
// received, and what was refused and why, is told with the next request.
import { readFile } from "node:fs/promises";
import type { SignalReceiver } from "../bureau/signals.ts";
import { isObject } from "../contract/parse/json-object.ts";
import {
  type SignalIssuer,
  type SignalPollTarget,
  SignalRefused,
} from "../contract/conditions/signals.ts";
import type { Log } from "../platform/log.ts";

const POLL_INTERVAL_MS = 10_000;
const POLL_TIMEOUT_MS = 10_000;
/** A transmitter that gives the same tokens again and again is not asked for ever. */
const REQUESTS_PER_POLL = 20;
/** Tokens of one answer. */
const POLLED_SIGNALS_MAX = 100;
/** That many of the largest tokens. */
const ANSWER_BYTES_MAX = 1600 * 1024;

export interface SignalPollerOptions {
  readonly issuer: Pick<SignalIssuer, "issuer" | "tenant">;
  readonly target: SignalPollTarget;
  readonly receiver: Pick<SignalReceiver, "receive">;
  /** Whether polling is this node's. */
  readonly isLeader: () => boolean;
  readonly log: Pick<Log, "warn">;
}

interface Polled {
  readonly sets: readonly (readonly [id: string, token: string])[];
  readonly isMore: boolean;
}

export class SignalPoller {
  readonly #options: SignalPollerOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #abort = new AbortController();
  #isPolling = false;
  #hasFailed = false;
  /** Ids to be told as received, and as refused. */
  #received: string[] = [];
  #refused = new Map<string, { err: string; description: string }>();

  constructor(options: SignalPollerOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.poll(), POLL_INTERVAL_MS).unref();
  }

  /** Takes what there is. Never rejects: a transmitter that fails is asked again, and logged once. */
  async poll(): Promise<void> {
    const { isLeader, issuer, log } = this.#options;
    if (this.#isPolling || !isLeader()) return;
    this.#isPolling = true;
    try {
      for (let request = 0; request < REQUESTS_PER_POLL; request += 1) {
        if (!(await this.#pollOnce())) break;
      }
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed && !this.#abort.signal.aborted) {
        log.warn("signal_poll_failed", { issuer: issuer.issuer, detail: (error as Error).message });
      }
      this.#hasFailed = true;
    } finally {
      this.#isPolling = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#abort.abort();
  }

  /** @returns Whether to ask again at once: there is more, or something to be told. */
  async #pollOnce(): Promise<boolean> {
    const [acknowledged, refused] = [this.#received, this.#refused];
    const { sets, isMore } = await this.#fetchSignals({
      maxEvents: POLLED_SIGNALS_MAX,
      returnImmediately: true,
      ack: acknowledged,
      setErrs: Object.fromEntries(refused),
    });
    this.#received = [];
    this.#refused = new Map();
    for (const [id, token] of sets) await this.#take(id, token);
    return isMore || sets.length > 0;
  }

  async #take(id: string, token: string): Promise<void> {
    const { receiver, issuer } = this.#options;
    try {
      await receiver.receive(token, { tenant: issuer.tenant, keyId: "signal-poll" });
      this.#received.push(id);
    } catch (error) {
      // Any other fault is ours: the token is not acknowledged and comes again.
      if (!(error instanceof SignalRefused)) throw error;
      this.#refused.set(id, { err: error.code, description: error.message });
    }
  }

  /** @throws Error for an answer that is none. */
  async #fetchSignals(request: object): Promise<Polled> {
    const { url, token_file: file } = this.#options.target;
    const secret = file === undefined ? undefined : (await readFile(file, "utf8")).trim();
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      },
      body: JSON.stringify(request),
      redirect: "error",
      signal: AbortSignal.any([this.#abort.signal, AbortSignal.timeout(POLL_TIMEOUT_MS)]),
    });
    const text = await readText(response);
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
    const answer: unknown = JSON.parse(text);
    const { sets, moreAvailable: isMore } = isObject(answer) ? answer : {};
    if (!isObject(sets)) throw new Error(`${url} answered without \`sets\``);
    const tokens = Object.entries(sets).slice(0, POLLED_SIGNALS_MAX);
    return { sets: tokens.map(([id, token]) => [id, String(token)]), isMore: isMore === true };
  }
}

/** @throws Error for a body that is too long. */
async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    const bytes = part as Uint8Array;
    length += bytes.length;
    if (length > ANSWER_BYTES_MAX) throw new Error("the answer is too long");
    parts.push(bytes);
  }
  return Buffer.concat(parts).toString();
}

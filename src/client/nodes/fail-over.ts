// Fail-over among the nodes of one bureau, within the caller's own time limit: another node is asked
// when one cannot answer, or late in its share of the time. A write is sent twice only where an id
// makes the second one harmless.
import { TrustRankError } from "../errors.ts";
import { scheduleAfter, readMonotonicMs, createRandomUint32 } from "../runtime.ts";
import {
  type SendOptions,
  type JsonReply,
  type HttpMethod,
  type RequestSender,
  findSystemErrorCode,
  Transport,
  type TransportOptions,
} from "../transport.ts";
import { NodeSet, type NodeState } from "./node-set.ts";

const ADDRESSES_MAX = 32;
/** Nodes that one request is put to: a fourth has too little time left to be of use. */
const ATTEMPTS_MAX = 3;
/** Of the question whether a node that has rested is ready. */
const PROBE_MS = 1000;
/** Faults before anything was sent: no write can have taken effect. */
const UNSENT_ERROR_CODES = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Where the service is, and how it is asked. */
export interface RequestSenderOptions extends Omit<TransportOptions, "baseUrl"> {
  readonly baseUrl: string | readonly string[];
  readonly hedgeAfterMs?: number | undefined;
}

/** The addresses without trailing slashes, each once. */
export function listAddresses(baseUrl: string | readonly string[]): string[] {
  const given = typeof baseUrl === "string" ? [baseUrl] : baseUrl;
  return [...new Set(given.map((address) => address.replace(/\/+$/, "")))];
}

/**
 * The way to one address, or over several with fail-over.
 * @throws TrustRankError `invalid_argument` for what is no HTTP address, or a list of none.
 */
export function createRequestSender({
  baseUrl,
  hedgeAfterMs,
  ...options
}: RequestSenderOptions): RequestSender {
  const given = typeof baseUrl === "string" ? [baseUrl] : baseUrl;
  const addresses = listAddresses(baseUrl);
  if (addresses.length === 0 || addresses.length > ADDRESSES_MAX) {
    throw createOptionsError(`\`baseUrl\` names one to ${ADDRESSES_MAX} addresses`);
  }
  if (!given.every((address) => /^https?:\/\//.test(address))) {
    throw createOptionsError("`baseUrl` must begin with http:// or https://");
  }
  if (hedgeAfterMs !== undefined && !(hedgeAfterMs > 0)) {
    throw createOptionsError("`hedgeAfterMs` is a number of milliseconds above 0");
  }
  const nodes = addresses.map(
    (address) => [address, new Transport({ ...options, baseUrl: address })] as const,
  );
  const [[, only]] = nodes as [(typeof nodes)[0]];
  return nodes.length === 1 ? only : new FailOverSender(nodes, hedgeAfterMs);
}

type FailOverNode = NodeState<Transport>;

export class FailOverSender implements RequestSender {
  readonly #nodes: NodeSet<Transport>;
  readonly #transports: readonly Transport[];
  readonly #hedgeAfterMs: number | undefined;

  constructor(nodes: readonly (readonly [string, Transport])[], hedgeAfterMs: number | undefined) {
    this.#transports = nodes.map(([, transport]) => transport);
    this.#nodes = new NodeSet({
      nodes,
      probe: probeReadiness,
      clock: readMonotonicMs,
      roundRobinStart: createRandomUint32(),
    });
    this.#hedgeAfterMs = hedgeAfterMs;
  }

  post(path: string, body: string, options: SendOptions): Promise<JsonReply> {
    return this.send("POST", path, body, options);
  }

  /** True when any node answered. */
  async reach(options: SendOptions): Promise<boolean> {
    const reached = await Promise.all(this.#transports.map((each) => each.reach(options)));
    return reached.includes(true);
  }

  /**
   * The answer of the first node that has one.
   * @throws TrustRankError of the last node asked, or at once what no other node would answer better.
   */
  send(
    method: HttpMethod,
    path: string,
    body: string | undefined,
    options: SendOptions,
  ): Promise<JsonReply> {
    const { live, resting } = this.#nodes.orderFor(options.agentId);
    const isRead = (options.kind ?? "write") === "read";
    const attempts = new RequestAttempts({
      nodes: [...live, ...resting].slice(0, ATTEMPTS_MAX),
      liveCount: live.length,
      hedgeAfterMs: isRead ? this.#hedgeAfterMs : undefined,
      known: this.#nodes,
      options,
      send: (node, call) => node.node.send(method, path, body, call),
    });
    return attempts.run();
  }
}

/** Any answer but "not now" is a node that works: a proxy in between may know no `/readyz`. */
async function probeReadiness(node: Transport): Promise<boolean> {
  try {
    await node.send("GET", "/readyz", undefined, { timeoutMs: PROBE_MS });
    return true;
  } catch (thrown) {
    const { status = 500 } = thrown as TrustRankError;
    return status < 500;
  }
}

interface RequestAttemptsOptions {
  readonly nodes: readonly FailOverNode[];
  /** How many of them, from the first, are thought to live. */
  readonly liveCount: number;
  readonly hedgeAfterMs: number | undefined;
  readonly known: NodeSet<Transport>;
  readonly options: SendOptions;
  readonly send: (node: FailOverNode, call: SendOptions) => Promise<JsonReply>;
}

/** The attempts at one request: in turn, or two at once where it is hedged. */
class RequestAttempts {
  readonly #request: RequestAttemptsOptions;
  readonly #endMs: number;
  readonly #inFlight = new Set<AbortController>();
  #startedCount = 0;
  #isOver = false;
  #resolve!: (document: JsonReply) => void;
  #reject!: (error: TrustRankError) => void;

  constructor(options: RequestAttemptsOptions) {
    this.#request = options;
    this.#endMs = readMonotonicMs() + options.options.timeoutMs;
  }

  async run(): Promise<JsonReply> {
    const { options, hedgeAfterMs, liveCount } = this.#request;
    const { signal } = options;
    const result = new Promise<JsonReply>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const onAbort = () => this.#abortInFlight(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const cancelHedge =
      hedgeAfterMs === undefined || liveCount < 2
        ? undefined
        : scheduleAfter(hedgeAfterMs, () => void this.#startNextAttempt());
    void this.#startNextAttempt();
    try {
      return await result;
    } finally {
      this.#isOver = true;
      cancelHedge?.();
      signal?.removeEventListener("abort", onAbort);
      this.#abortInFlight();
    }
  }

  async #startNextAttempt(): Promise<void> {
    const { nodes, known, options, send } = this.#request;
    const node = nodes[this.#startedCount];
    if (node === undefined || this.#isOver) return;
    this.#startedCount += 1;
    const flight = new AbortController();
    this.#inFlight.add(flight);
    if (options.signal?.aborted === true) flight.abort(options.signal.reason);
    try {
      const timeoutMs = this.#computeAttemptTimeoutMs();
      const document = await send(node, { ...options, timeoutMs, signal: flight.signal });
      if (this.#isOver) return;
      known.recordAnswer(node);
      this.#resolve(document);
    } catch (thrown) {
      this.#inFlight.delete(flight);
      if (!this.#isOver) this.#handleFault(node, thrown as TrustRankError);
    }
  }

  #handleFault(node: FailOverNode, error: TrustRankError): void {
    const kind = this.#request.options.kind ?? "write";
    const isOfNode = error.isTransient && error.status !== 429;
    if (isOfNode) this.#recordNodeFault(node, error);
    const mayRepeat = kind !== "write" || UNSENT_ERROR_CODES.has(findSystemErrorCode(error.cause));
    if (!isOfNode || !mayRepeat) return this.#reject(error);
    const hasTime = this.#endMs - readMonotonicMs() >= 1;
    const hasNext = this.#startedCount < this.#request.nodes.length;
    if (hasTime && hasNext) void this.#startNextAttempt();
    else if (this.#inFlight.size === 0) this.#reject(this.#addAttemptCount(error));
  }

  #recordNodeFault(node: FailOverNode, error: TrustRankError): void {
    const { known, options } = this.#request;
    const isRead = options.kind === "read" || options.kind === "wait";
    if (error.code === "timeout") known.recordLateAnswer(node);
    // A node that takes no outcomes (a full disk) may answer questions all the same.
    else if (isRead || error.status === undefined) known.recordFailure(node, error.retryAfterMs);
  }

  /** Among the nodes that live; the last of them has all that is left. */
  #computeAttemptTimeoutMs(): number {
    const leftMs = Math.max(1, this.#endMs - readMonotonicMs());
    const { kind = "write" } = this.#request.options;
    // A long poll cut short has waited for nothing, and a write without an id is not sent again.
    if (kind === "wait" || kind === "write") return leftMs;
    const { liveCount, nodes } = this.#request;
    const toCome = Math.min(liveCount, nodes.length) - this.#startedCount + 1;
    return leftMs / Math.max(1, toCome);
  }

  #addAttemptCount(error: TrustRankError): TrustRankError {
    if (this.#startedCount < 2) return error;
    const { code, message, status, retryAfterMs, requestId, errors } = error;
    const detail = `none of ${this.#startedCount} nodes answered; the last: ${message}`;
    const details = { status, retryAfterMs, requestId, errors, cause: error };
    return new TrustRankError(code, detail, details);
  }

  #abortInFlight(reason?: unknown): void {
    for (const flight of this.#inFlight) flight.abort(reason);
  }
}

function createOptionsError(detail: string): TrustRankError {
  return new TrustRankError("invalid_argument", detail);
}

// Fail-over among the nodes of one bureau, within the caller's own time limit: another node is asked
// when one cannot answer, or late in its share of the time. A write is sent twice only where an id
// makes the second one harmless.
import { TrustRankError } from "../errors.ts";
import { later, monotonicClock, seed } from "../runtime.ts";
import {
  type CallOptions,
  type Document,
  type Method,
  type Sender,
  systemCodeOf,
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
const UNSENT = new Set([
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
export interface SenderOptions extends Omit<TransportOptions, "baseUrl"> {
  readonly baseUrl: string | readonly string[];
  readonly hedgeAfterMs?: number | undefined;
}

/**
 * The way to one address, or over several with fail-over.
 * @throws TrustRankError `invalid_argument` for what is no HTTP address, or a list of none.
 */
export function senderTo({ baseUrl, hedgeAfterMs, ...options }: SenderOptions): Sender {
  const given = typeof baseUrl === "string" ? [baseUrl] : baseUrl;
  const addresses = [...new Set(given.map((address) => address.replace(/\/+$/, "")))];
  if (addresses.length === 0 || addresses.length > ADDRESSES_MAX) {
    throw invalid(`\`baseUrl\` names one to ${ADDRESSES_MAX} addresses`);
  }
  if (!given.every((address) => /^https?:\/\//.test(address))) {
    throw invalid("`baseUrl` must begin with http:// or https://");
  }
  if (hedgeAfterMs !== undefined && !(hedgeAfterMs > 0)) {
    throw invalid("`hedgeAfterMs` is a number of milliseconds above 0");
  }
  const nodes = addresses.map(
    (address) => [address, new Transport({ ...options, baseUrl: address })] as const,
  );
  const [[, only]] = nodes as [(typeof nodes)[0]];
  return nodes.length === 1 ? only : new FailOver(nodes, hedgeAfterMs);
}

type Node = NodeState<Transport>;

export class FailOver implements Sender {
  readonly #nodes: NodeSet<Transport>;
  readonly #transports: readonly Transport[];
  readonly #hedgeAfterMs: number | undefined;

  constructor(nodes: readonly (readonly [string, Transport])[], hedgeAfterMs: number | undefined) {
    this.#transports = nodes.map(([, transport]) => transport);
    this.#nodes = new NodeSet({ nodes, probe: isReady, clock: monotonicClock, turn: seed() });
    this.#hedgeAfterMs = hedgeAfterMs;
  }

  post(path: string, body: string, options: CallOptions): Promise<Document> {
    return this.send("POST", path, body, options);
  }

  /** True when any node answered. */
  async reach(options: CallOptions): Promise<boolean> {
    const reached = await Promise.all(this.#transports.map((each) => each.reach(options)));
    return reached.includes(true);
  }

  /**
   * The answer of the first node that has one.
   * @throws TrustRankError of the last node asked, or at once what no other node would answer better.
   */
  send(
    method: Method,
    path: string,
    body: string | undefined,
    options: CallOptions,
  ): Promise<Document> {
    const { live, resting } = this.#nodes.order(options.agentId);
    const isRead = (options.kind ?? "write") === "read";
    const attempts = new Attempts({
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
async function isReady(node: Transport): Promise<boolean> {
  try {
    await node.send("GET", "/readyz", undefined, { timeoutMs: PROBE_MS });
    return true;
  } catch (thrown) {
    const { status = 500 } = thrown as TrustRankError;
    return status < 500;
  }
}

interface AttemptsOptions {
  readonly nodes: readonly Node[];
  /** How many of them, from the first, are thought to live. */
  readonly liveCount: number;
  readonly hedgeAfterMs: number | undefined;
  readonly known: NodeSet<Transport>;
  readonly options: CallOptions;
  readonly send: (node: Node, call: CallOptions) => Promise<Document>;
}

/** The attempts at one request: in turn, or two at once where it is hedged. */
class Attempts {
  readonly #with: AttemptsOptions;
  readonly #endMs: number;
  readonly #flights = new Set<AbortController>();
  #begun = 0;
  #isOver = false;
  #resolve!: (document: Document) => void;
  #reject!: (error: TrustRankError) => void;

  constructor(options: AttemptsOptions) {
    this.#with = options;
    this.#endMs = monotonicClock() + options.options.timeoutMs;
  }

  async run(): Promise<Document> {
    const { options, hedgeAfterMs, liveCount } = this.#with;
    const { signal } = options;
    const result = new Promise<Document>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const onAbort = () => this.#endFlights(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const cancelHedge =
      hedgeAfterMs === undefined || liveCount < 2
        ? undefined
        : later(hedgeAfterMs, () => void this.#attempt());
    void this.#attempt();
    try {
      return await result;
    } finally {
      this.#isOver = true;
      cancelHedge?.();
      signal?.removeEventListener("abort", onAbort);
      this.#endFlights();
    }
  }

  async #attempt(): Promise<void> {
    const { nodes, known, options, send } = this.#with;
    const node = nodes[this.#begun];
    if (node === undefined || this.#isOver) return;
    this.#begun += 1;
    const flight = new AbortController();
    this.#flights.add(flight);
    if (options.signal?.aborted === true) flight.abort(options.signal.reason);
    try {
      const timeoutMs = this.#shareMs();
      const document = await send(node, { ...options, timeoutMs, signal: flight.signal });
      if (this.#isOver) return;
      known.answered(node);
      this.#resolve(document);
    } catch (thrown) {
      this.#flights.delete(flight);
      if (!this.#isOver) this.#onFault(node, thrown as TrustRankError);
    }
  }

  #onFault(node: Node, error: TrustRankError): void {
    const kind = this.#with.options.kind ?? "write";
    const isOfNode = error.isTransient && error.status !== 429;
    if (isOfNode) this.#blame(node, error);
    const mayRepeat = kind !== "write" || UNSENT.has(systemCodeOf(error.cause));
    if (!isOfNode || !mayRepeat) return this.#reject(error);
    const hasTime = this.#endMs - monotonicClock() >= 1;
    const hasNext = this.#begun < this.#with.nodes.length;
    if (hasTime && hasNext) void this.#attempt();
    else if (this.#flights.size === 0) this.#reject(this.#ofAll(error));
  }

  #blame(node: Node, error: TrustRankError): void {
    const { known, options } = this.#with;
    const isRead = options.kind === "read" || options.kind === "wait";
    if (error.code === "timeout") known.wasLate(node);
    // A node that takes no outcomes (a full disk) may answer questions all the same.
    else if (isRead || error.status === undefined) known.failed(node, error.retryAfterMs);
  }

  /** Among the nodes that live; the last of them has all that is left. */
  #shareMs(): number {
    const leftMs = Math.max(1, this.#endMs - monotonicClock());
    const { kind = "write" } = this.#with.options;
    // A long poll cut short has waited for nothing, and a write without an id is not sent again.
    if (kind === "wait" || kind === "write") return leftMs;
    const { liveCount, nodes } = this.#with;
    const toCome = Math.min(liveCount, nodes.length) - this.#begun + 1;
    return leftMs / Math.max(1, toCome);
  }

  #ofAll(error: TrustRankError): TrustRankError {
    if (this.#begun < 2) return error;
    const { code, message, status, retryAfterMs, requestId, errors } = error;
    const detail = `none of ${this.#begun} nodes answered; the last: ${message}`;
    const details = { status, retryAfterMs, requestId, errors, cause: error };
    return new TrustRankError(code, detail, details);
  }

  #endFlights(reason?: unknown): void {
    for (const flight of this.#flights) flight.abort(reason);
  }
}

function invalid(detail: string): TrustRankError {
  return new TrustRankError("invalid_argument", detail);
}

// The nodes of one bureau as this client knows them: which live, which rest after a fault, and which
// is asked first about an agent, by rendezvous hashing. An agent keeps its node while that node lives,
// and a node that goes moves its own agents alone.

/** Of the first pause; each further fault doubles it. */
const BACKOFF_MS_MIN = 1000;
const BACKOFF_MS_MAX = 30_000;
/** A node's own `Retry-After` counts up to this. */
const RETRY_AFTER_MS_MAX = 60_000;
/** Late answers in a row that are a fault: one is a pause of the node, or of this process. */
const LATE_MAX = 3;

/** Collaborators of a NodeSet. */
export interface NodeSetOptions<Node> {
  /** Address and node, in any order: every client with these addresses picks the same. */
  readonly nodes: readonly (readonly [address: string, node: Node])[];
  /** Asks a node that has rested whether it is ready; must not reject. */
  readonly probe: (node: Node) => Promise<boolean>;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
  /** Where requests about no agent begin their round. */
  readonly roundRobinStart: number;
}

/** A node with its record. */
export interface NodeState<Node> {
  readonly node: Node;
  readonly address: string;
  readonly seed: number;
  /** Since the last answer. */
  failures: number;
  lateAnswers: number;
  /** 0 while it lives. */
  backoffUntilMs: number;
  isProbed: boolean;
}

/** In the order in which to ask them. */
export interface NodeOrder<Node> {
  readonly live: readonly NodeState<Node>[];
  /** The last resort: who comes back first stands first. */
  readonly resting: readonly NodeState<Node>[];
}

export class NodeSet<Node> {
  readonly #states: readonly NodeState<Node>[];
  readonly #probe: (node: Node) => Promise<boolean>;
  readonly #clock: () => number;
  #roundRobinCounter: number;

  constructor({ nodes, probe, clock, roundRobinStart }: NodeSetOptions<Node>) {
    this.#states = nodes.map(([address, node]) => ({
      node,
      address,
      seed: hash(address),
      failures: 0,
      lateAnswers: 0,
      backoffUntilMs: 0,
      isProbed: false,
    }));
    this.#probe = probe;
    this.#clock = clock;
    this.#roundRobinCounter = roundRobinStart;
  }

  /** Whom to ask about this agent; about none in particular, everybody in turn. */
  orderFor(agentId: string | undefined): NodeOrder<Node> {
    this.#probeAfterBackoff();
    const key = hash(agentId ?? `${(this.#roundRobinCounter += 1)}`);
    const live = this.#states.filter(({ backoffUntilMs }) => backoffUntilMs === 0);
    const resting = this.#states.filter(({ backoffUntilMs }) => backoffUntilMs !== 0);
    return {
      live:
        live.length < 2
          ? live
          : live.toSorted((one, other) => compareByRendezvous(one, other, key)),
      resting: resting.toSorted((one, other) => one.backoffUntilMs - other.backoffUntilMs),
    };
  }

  /** It answered: it lives, whatever was before. */
  recordAnswer(state: NodeState<Node>): void {
    state.failures = 0;
    state.lateAnswers = 0;
    state.backoffUntilMs = 0;
  }

  /** It gave no answer in its share of the time. */
  recordLateAnswer(state: NodeState<Node>): void {
    state.lateAnswers += 1;
    if (state.lateAnswers >= LATE_MAX) this.recordFailure(state);
  }

  /** It cannot answer: it rests, longer each time, and at least as long as it asked for. */
  recordFailure(state: NodeState<Node>, retryAfterMs = 0): void {
    const nowMs = this.#clock();
    // Requests that found nobody else are not faults of their own.
    if (state.backoffUntilMs <= nowMs) {
      const grownMs = BACKOFF_MS_MIN * 2 ** Math.min(state.failures, 10);
      state.backoffUntilMs = nowMs + Math.min(BACKOFF_MS_MAX, grownMs);
      state.failures += 1;
    }
    state.lateAnswers = 0;
    const askedMs = Math.min(RETRY_AFTER_MS_MAX, retryAfterMs);
    state.backoffUntilMs = Math.max(state.backoffUntilMs, nowMs + askedMs);
  }

  /** No timers: the next request finds who has rested, and another node answers it meanwhile. */
  #probeAfterBackoff(): void {
    const nowMs = this.#clock();
    for (const state of this.#states) {
      const { backoffUntilMs, isProbed } = state;
      if (backoffUntilMs === 0 || backoffUntilMs > nowMs || isProbed) continue;
      void this.#probeOne(state);
    }
  }

  async #probeOne(state: NodeState<Node>): Promise<void> {
    const { backoffUntilMs } = state;
    state.isProbed = true;
    const isReady = await this.#probe(state.node);
    state.isProbed = false;
    if (state.backoffUntilMs !== backoffUntilMs) return;
    // It lives, but its faults are forgotten only with an answer to a question.
    if (isReady) state.backoffUntilMs = 0;
    else this.recordFailure(state);
  }
}

function compareByRendezvous(
  one: NodeState<unknown>,
  other: NodeState<unknown>,
  key: number,
): number {
  const difference = mixBits32(other.seed ^ key) - mixBits32(one.seed ^ key);
  return difference !== 0 ? difference : one.address < other.address ? -1 : 1;
}

/** FNV-1a over UTF-16 units, then mixed: neighbours in the alphabet are no neighbours here. */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  }
  return mixBits32(state);
}

/** The finalizer of MurmurHash3: every bit of the input moves every bit of the output. */
function mixBits32(value: number): number {
  let state = value;
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

// Agents without a good signing key: those whose newest key was revoked, until they register
// another. A fold over the events of the reporters' registry, so that a replay gives the same marks
// as the run that recorded them.

interface KeyEvent {
  event?: unknown;
  agent?: unknown;
  kid?: unknown;
}

/** An agent whose mark changed. */
export interface KeyRevocationMark {
  readonly agent: string;
  readonly isRevoked: boolean;
}

export class RevokedAgents {
  readonly #agents = new Map<string, string>();
  /** agent -> the key it registered last. */
  readonly #newest = new Map<string, string>();
  readonly #revoked = new Set<string>();

  /**
   * Folds the next event (the payload of a record of kind `key`).
   * @returns the agent whose mark it changed, if any.
   */
  apply(payload: Buffer): KeyRevocationMark | undefined {
    const { event, agent, kid } = JSON.parse(payload.toString()) as KeyEvent;
    if (typeof kid !== "string") return undefined;
    if (event === "registered" && typeof agent === "string") return this.#register(agent, kid);
    return event === "revoked" ? this.#revoke(kid) : undefined;
  }

  #register(agent: string, kid: string): KeyRevocationMark | undefined {
    this.#agents.set(kid, agent);
    this.#newest.set(agent, kid);
    return this.#revoked.delete(agent) ? { agent, isRevoked: false } : undefined;
  }

  /** A key that another has followed does not mark the agent any more. */
  #revoke(kid: string): KeyRevocationMark | undefined {
    const agent = this.#agents.get(kid);
    if (agent === undefined || this.#newest.get(agent) !== kid) return undefined;
    if (this.#revoked.has(agent)) return undefined;
    this.#revoked.add(agent);
    return { agent, isRevoked: true };
  }
}

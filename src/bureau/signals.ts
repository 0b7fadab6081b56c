// Use case of security signals: an identity provider's word about an agent becomes a condition of the tenant that pinned
// that provider. Signals only restrict, and only lift what a signal has set; the end of a session has no effect.
import type { ConditionBook } from "../contract/conditions/book.ts";
import type { ConditionSetEvent } from "../contract/conditions/events.ts";
import type { Principal } from "../contract/principal.ts";
import {
  readSecuritySignal,
  type SecuritySignal,
  SIGNAL_AGE_MS_MAX,
  type SignalIssuer,
  SignalRefused,
} from "../contract/conditions/signals.ts";
import type { Conditions } from "./conditions.ts";

/** Ids of tokens that are remembered; of more the oldest are forgotten, and only their times protect then. */
const RECEIVED_SIGNALS_MAX = 100_000;
/** Reason code of a condition that a signal has set. */
const SIGNAL_REASON = "signal";

/** Proves a token against the pinned keys of an issuer; its claims. */
export type SignalVerifier = (
  token: string,
  issuer: SignalIssuer,
) => Promise<Readonly<Record<string, unknown>>>;

export interface SignalReceiverOptions {
  readonly issuers: readonly SignalIssuer[];
  /** `iss` of a token, unproven; undefined where it is none. */
  readonly readIssuer: (token: string) => string | undefined;
  /** @throws SignalRefused */
  readonly verify: SignalVerifier;
  readonly conditions: Pick<Conditions, "set" | "lift">;
  /** It keeps past conditions: they tell which signals were taken before a restart. */
  readonly book: Pick<ConditionBook, "find" | "listStored">;
  /** Epoch ms. */
  readonly clock: () => number;
}

/** Who delivers a token: the key of a tenant, or the poll of its issuer. */
export type SignalSender = Pick<Principal, "tenant" | "keyId">;

export class SignalReceiver {
  readonly #options: SignalReceiverOptions;
  /** By tenant, issuer and id, in order of arrival: when they were received, epoch ms. */
  readonly #received = new Map<string, number>();

  constructor(options: SignalReceiverOptions) {
    this.#options = options;
  }

  /**
   * Takes a token that came with a key of the tenant. Resolves once what follows from it is in force.
   * @throws SignalRefused; ServiceFault `conditions_full`, `journal_unavailable`.
   */
  async receive(token: string, principal: SignalSender): Promise<void> {
    const { issuers, readIssuer, verify, clock } = this.#options;
    const named = readIssuer(token);
    if (named === undefined) throw new SignalRefused("invalid_request", "no signed token");
    const isPinned = (each: SignalIssuer) =>
      each.issuer === named && each.tenant === principal.tenant;
    const issuer = issuers.find(isPinned);
    if (issuer === undefined) throw new SignalRefused("invalid_issuer", `${named} is not pinned`);
    const signal = readSecuritySignal(await verify(token, issuer), issuer, clock());
    const key = `${principal.tenant}\n${signal.issuer}\n${signal.id}`;
    if (this.#received.has(key)) {
      throw new SignalRefused("invalid_request", "a token with this `jti` was received before");
    }
    this.#remember(key);
    try {
      await this.#follow(signal, principal);
    } catch (error) {
      // Not in force: the same token may be sent again.
      this.#received.delete(key);
      throw error;
    }
  }

  #remember(key: string): void {
    const nowMs = this.#options.clock();
    for (const [each, receivedMs] of this.#received) {
      const isSpare = this.#received.size >= RECEIVED_SIGNALS_MAX;
      if (!isSpare && receivedMs >= nowMs - SIGNAL_AGE_MS_MAX) break;
      this.#received.delete(each);
    }
    this.#received.set(key, nowMs);
  }

  async #follow(signal: SecuritySignal, { tenant, keyId }: SignalSender): Promise<void> {
    const { agent, effect } = signal;
    if (agent === undefined || effect === "none") return;
    const { conditions, book, clock } = this.#options;
    const standing = book.find(tenant, agent, clock());
    const isSuspended = standing?.condition.state === "suspended";
    // The right that a signal has: no right of the key that delivers it.
    const scopes = new Set(["conditions:restrict"] as const);
    const principal = { ...NO_RIGHTS, tenant, keyId, scopes, via: "signal" };
    if (effect === "restore") {
      const setMs = isSuspended ? readSignalMs(standing, signal.issuer) : undefined;
      if (setMs === undefined || signal.atMs < setMs) return;
      await conditions.lift(agent, "tenant", principal);
      return;
    }
    if (signal.atMs <= this.#findNewestMs(tenant, agent, signal.issuer)) {
      throw new SignalRefused(
        "invalid_request",
        "this signal, or a later one, was received before",
      );
    }
    if (isSuspended) return;
    const condition = {
      state: "suspended",
      levels: null,
      max_stakes: null,
      until_ms: null,
      reason: { code: SIGNAL_REASON, text: `${signal.event}, ${signal.issuer}` },
      case: buildCase(signal),
    } as const;
    await conditions.set(agent, { scope: "tenant", condition }, principal);
  }

  /** Time of the newest signal of the issuer that has suspended the agent: an earlier one was taken before. */
  #findNewestMs(tenant: string, agent: string, issuer: string): number {
    let newest = Number.NEGATIVE_INFINITY;
    for (const { set } of this.#options.book.listStored()) {
      if (set.event !== "condition.set" || set.tenant !== tenant || set.subject !== agent) continue;
      newest = Math.max(newest, readSignalMs(set, issuer) ?? Number.NEGATIVE_INFINITY);
    }
    return newest;
  }
}

const NO_RIGHTS = {
  minimumScores: { L0: 0, L1: 0, L2: 0, L3: 0 },
  isShadow: false,
  isFirstParty: false,
  voice: 0,
} as const;

/** Case of a condition that a signal has set: its time and its issuer. */
function buildCase({ atMs, issuer }: SecuritySignal): string {
  return `signal ${atMs} ${issuer}`;
}

/** Time of the signal by which the issuer has set a condition, epoch ms; undefined where none has. */
function readSignalMs({ condition }: ConditionSetEvent, issuer: string): number | undefined {
  const [word, time, ...rest] = (condition.case ?? "").split(" ");
  const isOfIssuer = condition.reason.code === SIGNAL_REASON && rest.join(" ") === issuer;
  return word === "signal" && isOfIssuer ? Number(time) : undefined;
}

// Counts of refused authorizations (reason, key, network) that one thread sends to the audit trail. Collected for
// a second and bounded, so that a flood costs a map entry each, not a record. Holds no secret and no header: a key
// is named by its id, and only when the id exists.
import type { FaultCode } from "../../contract/faults.ts";
import type { Principal } from "../../contract/principal.ts";
import type { RequestHead } from "../server/port.ts";
import type { Keyring } from "./keyring.ts";
import type { StoredKey } from "./key-file.ts";
import { parseApiKey } from "./key-format.ts";
import { createKeyringEntry, findMatchingSecret } from "./key-holder.ts";

/** Faults of refused authorisation. */
const REFUSAL_CODES: ReadonlySet<FaultCode> = new Set([
  "unauthenticated",
  "insufficient_scope",
  "namespace_not_owned",
]);

/** Reason, in more detail than the caller's reply. */
export type RefusalReason =
  | "no_key"
  | "malformed_key"
  | "unknown_key"
  | "wrong_secret"
  | "replaced_secret"
  | "revoked_key"
  | "expired_key"
  | "insufficient_scope"
  | "namespace_not_owned";

/** Attributes by which refusals are counted together. */
export interface RefusalSource {
  readonly reason: RefusalReason;
  /** The peer: an IPv4 address or the first 64 bits of an IPv6 one; empty when it is not known. */
  readonly address: string;
  /** The key with this id, if there is one, and its tenant. */
  readonly keyId: string | null;
  readonly tenant: string | null;
}

/** Members read of a refused request: an Exchange. */
export interface RefusedRequest {
  readonly head: RequestHead;
  readonly requestId: string;
  readonly routeIndex: number;
  readonly principal: Principal;
  readonly services: {
    readonly clock: () => number;
    readonly keyring: Keyring;
    readonly routes: readonly { readonly name: string }[];
  };
  peerAddress(): string;
}

/** Refusals of one source; route and request are those of the first. */
export interface RefusalCount extends RefusalSource {
  readonly route: string;
  readonly requestId: string;
  count: number;
  /** Epoch ms. */
  readonly firstMs: number;
  lastMs: number;
}

/** Refusals of one moment. Data only: it crosses between threads. */
export interface RefusalBatch {
  readonly counts: readonly RefusalCount[];
  /** Refusals of further sources, beyond the limit of separate ones. */
  readonly overflow: number;
}

/** Most sources counted separately within one moment. */
const SOURCES_MAX = 256;
const GATHER_MS = 1000;

/** Collects a thread's refusals and delivers them, at most once a second. */
export class RefusalCollector {
  readonly #deliver: (batch: RefusalBatch) => void;
  readonly #gatherMs: number;
  #counts = new Map<string, RefusalCount>();
  #overflow = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(deliver: (batch: RefusalBatch) => void, gatherMs = GATHER_MS) {
    this.#deliver = deliver;
    this.#gatherMs = gatherMs;
  }

  /** Counts a refusal; ignores faults other than a refused authorisation. */
  countRefusal(exchange: RefusedRequest, code: FaultCode): void {
    if (!REFUSAL_CODES.has(code)) return;
    const nowMs = exchange.services.clock();
    const source = buildRefusalSource(exchange, code);
    const key = formatSourceKey(source);
    const known = this.#counts.get(key);
    this.#timer ??= setTimeout(() => this.flush(), this.#gatherMs).unref();
    if (known !== undefined) {
      known.count += 1;
      known.lastMs = nowMs;
    } else if (this.#counts.size >= SOURCES_MAX) {
      this.#overflow += 1;
    } else {
      const { routes } = exchange.services;
      const route = routes[exchange.routeIndex]?.name ?? "";
      const { requestId } = exchange;
      const first = { ...source, route, requestId, count: 1, firstMs: nowMs, lastMs: nowMs };
      this.#counts.set(key, first);
    }
  }

  /** Delivers the collected refusals. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = { counts: [...this.#counts.values()], overflow: this.#overflow };
    if (batch.counts.length === 0) return;
    this.#counts = new Map();
    this.#overflow = 0;
    this.#deliver(batch);
  }
}

/** Equal for refusals that are counted together. */
export function formatSourceKey({ reason, address, keyId }: RefusalSource): string {
  return `${reason} ${address} ${keyId ?? ""}`;
}

function buildRefusalSource(exchange: RefusedRequest, code: FaultCode): RefusalSource {
  const address = truncateToNetwork(exchange.peerAddress());
  if (code === "unauthenticated") return { ...classifyUnauthenticated(exchange), address };
  const { keyId, tenant } = exchange.principal;
  return { reason: code as RefusalReason, address, keyId, tenant };
}

/** The reason why the keyring found no holder. */
function classifyUnauthenticated({
  head,
  services,
}: RefusedRequest): Omit<RefusalSource, "address"> {
  const unknown = { keyId: null, tenant: null };
  const { authorization } = head;
  if (authorization === undefined) return { reason: "no_key", ...unknown };
  const parsed = parseApiKey(authorization.replace(/^bearer +/i, ""));
  if (parsed === undefined) return { reason: "malformed_key", ...unknown };
  const stored = services.keyring.findStoredKey(parsed.keyId);
  if (stored === undefined) return { reason: "unknown_key", ...unknown };
  const { keyId, tenant } = stored;
  return { reason: selectRefusalReason(stored, parsed.secret, services.clock()), keyId, tenant };
}

function selectRefusalReason(stored: StoredKey, text: string, nowMs: number): RefusalReason {
  const secret = findMatchingSecret(createKeyringEntry(stored, 0), text);
  if (secret === undefined) return "wrong_secret";
  if (stored.revokedAtMs !== null) return "revoked_key";
  const isReplaced = secret.untilMs !== null && secret.untilMs <= nowMs;
  return isReplaced ? "replaced_secret" : "expired_key";
}

/**
 * The part of an address that a caller cannot change at will: all of an IPv4 address, the first 64
 * bits of an IPv6 one. `text` as a server gives it, with or without `::`; unchanged when it is no
 * address.
 */
export function truncateToNetwork(text: string): string {
  if (!text.includes(":")) return text;
  const dotted = text.slice(text.lastIndexOf(":") + 1);
  if (dotted.includes(".")) return dotted;
  const [front = "", back] = text.split("%", 1)[0]!.split("::");
  const head = front === "" ? [] : front.split(":");
  const tail = back === undefined || back === "" ? [] : back.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0");
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  if (groups.length !== 8 || groups.some(Number.isNaN)) return text;
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

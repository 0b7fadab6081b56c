// Console sessions, in the main thread's memory only: a restart logs everyone out. A session stores the key's id,
// not the key, and checks it on each request: revocation, expiry and rotation end its sessions at once.
import { hash, timingSafeEqual } from "node:crypto";
import type { Principal } from "../../contract/principal.ts";
import type { Keyring } from "../access/keyring.ts";

/** A session that nobody used for so long is over. */
export const SESSION_IDLE_MS = 30 * 60_000;
/** A session is over after so long whatever happens. */
export const SESSION_MS_MAX = 12 * 60 * 60_000;
/** Open sessions of a key; the one that was idle longest makes room. */
const SESSIONS_PER_KEY_MAX = 64;
/** A link that logs in works once, for so long. */
export const LOGIN_LINK_LIFE_MS = 5 * 60_000;
const LINKS_MAX = 16;
const ID_BYTES = 32;
const CSRF_BYTES = 16;
const SHORT_ID_LENGTH = 8;

export interface ActiveConsoleSession {
  /** Beginning of the digest of its id: names it in the audit trail and opens nothing. */
  readonly shortId: string;
  readonly csrf: string;
  /** Of the key as it is now, marked as coming from the console. */
  readonly principal: Principal;
  /** Epoch ms. */
  readonly endsAtMs: number;
}

interface SessionRecord {
  readonly shortId: string;
  readonly keyId: string;
  readonly csrf: string;
  /** Of the key's secret when it logged in. */
  readonly rotatedAtMs: number | null;
  readonly endsAtMs: number;
  idleEndsAtMs: number;
  /** The key's principal, and the one made of it. */
  source: Principal;
  principal: Principal;
}

export interface SessionDependencies {
  readonly keyring: Keyring;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly randomBytes: (size: number) => Buffer;
}

export class ConsoleSessions {
  readonly #parts: SessionDependencies;
  /** By the digest of the id. */
  readonly #sessions = new Map<string, SessionRecord>();
  /** By the digest of the token: the key that it logs in, and its end. */
  readonly #links = new Map<string, { readonly keyId: string; readonly endsAtMs: number }>();

  constructor(parts: SessionDependencies) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Opens a session; its id is in this answer and nowhere else. Undefined: the key is not valid. */
  open(keyId: string): { id: string; session: ActiveConsoleSession } | undefined {
    const { keyring, clock, randomBytes } = this.#parts;
    const source = keyring.findValidPrincipal(keyId);
    if (source === undefined) return undefined;
    const id = randomBytes(ID_BYTES).toString("base64url");
    const digest = digestSessionId(id);
    const shortId = digest.slice(0, SHORT_ID_LENGTH);
    const nowMs = clock();
    const kept: SessionRecord = {
      shortId,
      keyId,
      csrf: randomBytes(CSRF_BYTES).toString("base64url"),
      rotatedAtMs: this.#rotatedAtMs(keyId),
      endsAtMs: nowMs + SESSION_MS_MAX,
      idleEndsAtMs: nowMs + SESSION_IDLE_MS,
      source,
      principal: markConsolePrincipal(source, shortId),
    };
    this.#makeRoom(keyId, nowMs);
    this.#sessions.set(digest, kept);
    return { id, session: kept };
  }

  /**
   * The session with this id; undefined when there is none or it is over. `isBackground`: the page asks by itself,
   * which does not count as a use, or an open tab would never be idle.
   */
  use(id: string | undefined, isBackground = false): ActiveConsoleSession | undefined {
    if (id === undefined) return undefined;
    const digest = digestSessionId(id);
    const kept = this.#sessions.get(digest);
    if (kept === undefined) return undefined;
    const nowMs = this.#parts.clock();
    const source = this.#parts.keyring.findValidPrincipal(kept.keyId);
    const isOver = nowMs >= kept.endsAtMs || nowMs >= kept.idleEndsAtMs;
    if (isOver || source === undefined || this.#rotatedAtMs(kept.keyId) !== kept.rotatedAtMs) {
      this.#sessions.delete(digest);
      return undefined;
    }
    if (!isBackground) kept.idleEndsAtMs = nowMs + SESSION_IDLE_MS;
    if (kept.source !== source) {
      kept.source = source;
      kept.principal = markConsolePrincipal(source, kept.shortId);
    }
    return kept;
  }

  /** Ends a session; harmless when there is none. */
  end(id: string | undefined): void {
    if (id !== undefined) this.#sessions.delete(digestSessionId(id));
  }

  /** A token that logs in as this key, once, within LINK_MS. */
  issueLink(keyId: string): string {
    const { clock, randomBytes } = this.#parts;
    const token = randomBytes(ID_BYTES).toString("base64url");
    if (this.#links.size >= LINKS_MAX) this.#links.delete(this.#links.keys().next().value!);
    this.#links.set(digestSessionId(token), { keyId, endsAtMs: clock() + LOGIN_LINK_LIFE_MS });
    return token;
  }

  /** The key that a token logs in as; the token is used up. Undefined: unknown, used or too late. */
  redeemLink(token: string): string | undefined {
    const digest = digestSessionId(token);
    const link = this.#links.get(digest);
    this.#links.delete(digest);
    return link !== undefined && this.#parts.clock() < link.endsAtMs ? link.keyId : undefined;
  }

  #rotatedAtMs(keyId: string): number | null {
    return this.#parts.keyring.findStoredKey(keyId)?.rotatedAtMs ?? null;
  }

  #makeRoom(keyId: string, nowMs: number): void {
    const ofKey: [string, SessionRecord][] = [];
    for (const [digest, kept] of this.#sessions) {
      if (nowMs >= kept.endsAtMs || nowMs >= kept.idleEndsAtMs) this.#sessions.delete(digest);
      else if (kept.keyId === keyId) ofKey.push([digest, kept]);
    }
    if (ofKey.length < SESSIONS_PER_KEY_MAX) return;
    const [oldest] = ofKey.toSorted(([, a], [, b]) => a.idleEndsAtMs - b.idleEndsAtMs);
    this.#sessions.delete(oldest![0]);
  }
}

/** Whether `given` is the session's token against forged requests, compared in constant time. */
export function isCsrfTokenValid(
  { csrf }: ActiveConsoleSession,
  given: string | undefined,
): boolean {
  if (given?.length !== csrf.length) return false;
  return timingSafeEqual(Buffer.from(given), Buffer.from(csrf));
}

function markConsolePrincipal(principal: Principal, shortId: string): Principal {
  return { ...principal, via: `console:${shortId}` };
}

/** Ids are kept as digests: whoever reads this memory logs in nowhere. */
function digestSessionId(id: string): string {
  return hash("sha256", id);
}

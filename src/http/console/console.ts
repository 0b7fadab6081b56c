// Access checks of the console: hosts that serve it, login, and the same-origin check of its requests.
// The session cookie is read below /console only. All other paths take API keys, so that a page of another site
// cannot use a browser's session.
import { ServiceFault } from "../../contract/faults.ts";
import type { Principal } from "../../contract/principal.ts";
import type { Scope } from "../../contract/vocabulary.ts";
import type { Keyring } from "../access/keyring.ts";
import type { RequestHead } from "../server/port.ts";
import { ConsoleAssets } from "./assets.ts";
import {
  type ActiveConsoleSession,
  ConsoleSessions,
  isCsrfTokenValid,
  SESSION_MS_MAX,
} from "./sessions.ts";
import { INSTALLED_KEY_ID } from "../access/key-holder.ts";

/** `loopback`: to this machine, and through a named proxy that ends TLS. `on`: to all named hosts. */
export const CONSOLE_MODES = ["off", "loopback", "on"] as const;
export type ConsoleMode = (typeof CONSOLE_MODES)[number];

export interface ConsoleOptions {
  readonly mode: ConsoleMode;
  /** Hosts under which people reach it, beside those of this machine. */
  readonly hosts: readonly string[];
  /** The service listens on this machine's own addresses alone. */
  readonly isBoundToLoopback: boolean;
  /** Cookies without `Secure`, for browsers that refuse it on plain loopback. */
  readonly isInsecure: boolean;
  /** Name of what stakes are counted in, shown beside amounts. */
  readonly unitOfAccount: string;
}

interface ConsoleDependencies {
  readonly keyring: Keyring;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly randomBytes: (size: number) => Buffer;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);
/** What a key must hold one of: with any other there is nothing to be seen. */
const LOGIN_SCOPES: readonly Scope[] = [
  "admin",
  "analytics:read",
  "reviews:decide",
  "metrics:read",
  "conditions:restrict",
  "conditions:clear",
];
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export class Console {
  readonly assets = new ConsoleAssets();
  readonly sessions: ConsoleSessions;
  readonly #options: ConsoleOptions;
  readonly #keyring: Keyring;

  constructor(options: ConsoleOptions, parts: ConsoleDependencies) {
    this.#options = options;
    this.#keyring = parts.keyring;
    this.sessions = new ConsoleSessions(parts);
  }

  get unitOfAccount(): string {
    return this.#options.unitOfAccount;
  }

  /** Whether a request with this head gets the page. */
  isServedUnder(head: RequestHead): boolean {
    return this.#options.mode !== "off" && this.#isHostKnown(head);
  }

  /** Whether a browser on this machine can reach it without a proxy. */
  get isOpenHere(): boolean {
    const { mode, isBoundToLoopback } = this.#options;
    return mode === "on" || (mode === "loopback" && isBoundToLoopback);
  }

  /**
   * A host other than the known ones is another site's name for this address (DNS rebinding).
   * @throws ServiceFault `not_found` where the console is off, `host_not_known`.
   */
  checkHost(head: RequestHead): void {
    if (this.#options.mode === "off") throw new ServiceFault("not_found", "no route has this path");
    if (this.#isHostKnown(head)) return;
    const detail =
      "open http://127.0.0.1:PORT/console on this machine or through a forwarded port; to serve the console under " +
      "another host, name it in TRUSTRANK_CONSOLE_HOSTS and terminate TLS in front of it";
    throw new ServiceFault("host_not_known", detail);
  }

  /**
   * A loopback name is no other site's: browsers resolve it to their own machine. So it is known on every bound
   * address, since a published container port or a forwarded port brings it to a service bound to all of them.
   */
  #isHostKnown({ host, forwarded }: RequestHead): boolean {
    const { mode, hosts } = this.#options;
    const name = (host ?? "").toLowerCase();
    if (LOOPBACK_NAMES.has(stripPort(name))) return true;
    const isNamed = hosts.includes(name) || hosts.includes(stripPort(name));
    return isNamed && (mode === "on" || forwarded?.get("x-forwarded-proto") === "https");
  }

  /** @throws ServiceFault `cross_site`. */
  checkSite({ host, forwarded }: RequestHead): void {
    const site = forwarded?.get("sec-fetch-site");
    if (site === "same-origin") return;
    const origin = forwarded?.get("origin");
    const isOwn = origin === `http://${host}` || origin === `https://${host}`;
    if (site === undefined && isOwn) return;
    throw new ServiceFault("cross_site", "open the console and ask from there");
  }

  /** The same where nobody has to be logged in. @throws ServiceFault `host_not_known`, `cross_site`. */
  find(head: RequestHead): ActiveConsoleSession | undefined {
    this.checkHost(head);
    this.checkSite(head);
    const isBackground = head.forwarded?.get("x-tr-background") === "true";
    return this.sessions.use(this.#readSessionId(head), isBackground);
  }

  /**
   * The session of a request that comes from the console's own page.
   * @throws ServiceFault `host_not_known`, `cross_site`, `unauthenticated`.
   */
  admit(head: RequestHead): ActiveConsoleSession {
    const session = this.find(head);
    if (session === undefined) throw new ServiceFault("unauthenticated", "log in again");
    if (
      !SAFE_METHODS.has(head.method) &&
      !isCsrfTokenValid(session, head.forwarded?.get("x-tr-csrf"))
    ) {
      throw new ServiceFault("cross_site", "header `x-tr-csrf` is not the session's");
    }
    return session;
  }

  /**
   * Logs in by a key or by the token of a link, in place of the session that the request had.
   * Wrong attempts are not limited: keys and links have 128 bits or more, and behind one proxy a limit by address
   * would lock out everybody.
   * @throws ServiceFault `unauthenticated`, the same whatever is wrong; `insufficient_scope`.
   */
  logIn(head: RequestHead, given: { key?: string; token?: string }) {
    this.checkHost(head);
    this.checkSite(head);
    const principal = this.#provedBy(given);
    const opened = principal && this.sessions.open(principal.keyId);
    if (principal === undefined || opened === undefined) {
      throw new ServiceFault("unauthenticated", "neither a valid key nor a link that still works");
    }
    if (!LOGIN_SCOPES.some((scope) => principal.scopes.has(scope))) {
      this.sessions.end(opened.id);
      const detail = `the console needs one of the scopes ${LOGIN_SCOPES.join(", ")}`;
      throw new ServiceFault("insufficient_scope", detail);
    }
    this.sessions.end(this.#readSessionId(head));
    return { cookie: this.#cookie(opened.id, SESSION_MS_MAX / 1000), session: opened.session };
  }

  /** Ends the request's session; what to send so that the browser forgets it. */
  logOut(head: RequestHead): string {
    this.sessions.end(this.#readSessionId(head));
    return this.#cookie("", 0);
  }

  #provedBy({ key, token }: { key?: string; token?: string }): Principal | undefined {
    if (key !== undefined) return this.#keyring.authenticate(`Bearer ${key}`);
    const keyId = token === undefined ? undefined : this.sessions.redeemLink(token);
    return keyId === undefined ? undefined : this.#keyring.findValidPrincipal(keyId);
  }

  get #cookieName(): string {
    return this.#options.isInsecure ? "tr_session" : "__Host-tr_session";
  }

  #cookie(id: string, maxAgeSec: number): string {
    const secure = this.#options.isInsecure ? "" : "; Secure";
    return `${this.#cookieName}=${id}; Path=/${secure}; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSec}`;
  }

  /** The id that the browser sent; undefined as well when it sent two. */
  #readSessionId({ forwarded }: RequestHead): string | undefined {
    const prefix = `${this.#cookieName}=`;
    const found = (forwarded?.get("cookie") ?? "")
      .split("; ")
      .filter((pair) => pair.startsWith(prefix));
    return found.length === 1 ? found[0]!.slice(prefix.length) : undefined;
  }
}

function stripPort(host: string): string {
  return host.replace(/:\d{1,5}$/, "");
}

// Login link that the start prints: valid once, for minutes, on this host. The token is in the fragment, so that no
// server and no proxy sees it.
/** Undefined where no browser on this host could open it, or no key may log in. */
export function createConsoleLink(
  door: Console | undefined,
  keyring: Keyring,
  url: string,
): string | undefined {
  if (door?.isOpenHere !== true || !url.startsWith("http://")) return undefined;
  const admins = keyring.list().filter(({ scopes }) => scopes.includes("admin"));
  const ids = [INSTALLED_KEY_ID, ...admins.map(({ key_id }) => key_id)];
  const keyId = ids.find((id) => keyring.findValidPrincipal(id) !== undefined);
  if (keyId === undefined) return undefined;
  return `${url}/console#login=${door.sessions.issueLink(keyId)}`;
}

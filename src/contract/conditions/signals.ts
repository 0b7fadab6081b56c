// Security event tokens (RFC 8417) as OpenID Shared Signals 1.0 sends them: who may send, the claims that must be there, and
// what an event means for an agent. A token is read here once its signature is proven.
import { isAgentId, isNamespacePattern } from "../identifiers.ts";
import { isObject } from "../parse/json-object.ts";
import { DAY_MS, MINUTE_MS } from "../units.ts";

/** Whom a tenant takes signals from, and about which namespaces. */
export interface SignalIssuer {
  /** `iss` of its tokens. */
  readonly issuer: string;
  /** `aud` that its tokens name. */
  readonly audience: string;
  /** A JSON Web Key Set: the only keys that prove its tokens. */
  readonly jwks: { readonly keys: readonly Record<string, unknown>[] };
  /** Patterns as `agent://acme/*`: agents of others are no business of this issuer. */
  readonly namespaces: readonly string[];
  readonly tenant: string;
  /** Where tokens are fetched from (RFC 8936); left out where they are only pushed. */
  readonly poll?: SignalPollTarget;
}

export interface SignalPollTarget {
  readonly url: string;
  /** File with the bearer token of the endpoint. */
  readonly token_file?: string;
}

/** Error codes of RFC 8935, section 2.4. */
export type SignalErrorCode =
  | "invalid_request"
  | "invalid_key"
  | "invalid_issuer"
  | "invalid_audience"
  | "access_denied";

/** A token that is refused; the message says why. */
export class SignalRefused extends Error {
  readonly code: SignalErrorCode;

  constructor(code: SignalErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a token asks for. `none`: received, and nothing follows from it. */
export type SignalEffect = "restrict" | "restore" | "none";

export interface SecuritySignal {
  readonly id: string;
  readonly issuer: string;
  /** The event's own time where it has one, else that of the token; epoch ms. */
  readonly atMs: number;
  readonly effect: SignalEffect;
  /** Last part of the event's type: `account-disabled`. */
  readonly event: string;
  /** Undefined where the subject is no agent: signals about users are none of ours. */
  readonly agent: string | undefined;
}

/** Length of a token. */
export const SIGNAL_TOKEN_BYTES_MAX = 16 * 1024;
/** Tokens may be so old, and so far in the future. */
export const SIGNAL_AGE_MS_MAX = 7 * DAY_MS;
export const SIGNAL_SKEW_MS_MAX = MINUTE_MS;
export const SIGNAL_ID_LENGTH_MAX = 256;

const RISC = "https://schemas.openid.net/secevent/risc/event-type/";
const CAEP = "https://schemas.openid.net/secevent/caep/event-type/";
const ENDING_CHANGES: ReadonlySet<unknown> = new Set(["revoke", "delete"]);

/**
 * Reads the claims of a token whose signature, `typ`, `iss` and `aud` are proven. SSF 1.0, section 4.1: neither `exp` nor
 * `sub`, one event, the subject in `sub_id`.
 * @throws SignalRefused
 */
export function readSecuritySignal(
  claims: Readonly<Record<string, unknown>>,
  { issuer, namespaces }: Pick<SignalIssuer, "issuer" | "namespaces">,
  nowMs: number,
): SecuritySignal {
  const { jti, iat, exp, sub, events, sub_id: subject } = claims;
  if (typeof jti !== "string" || jti === "" || jti.length > SIGNAL_ID_LENGTH_MAX) {
    throw new SignalRefused("invalid_request", "`jti` must be a text of 1 to 256 characters");
  }
  if (exp !== undefined) throw new SignalRefused("invalid_request", "`exp` must not be there");
  if (sub !== undefined) throw new SignalRefused("invalid_request", "`sub` must not be there");
  const issuedAtMs = readSeconds(iat, "iat");
  if (issuedAtMs > nowMs + SIGNAL_SKEW_MS_MAX || issuedAtMs < nowMs - SIGNAL_AGE_MS_MAX) {
    throw new SignalRefused("invalid_request", "`iat` must lie in the last seven days");
  }
  const [type, event] = readOnlyEvent(events);
  const name = type.slice(type.lastIndexOf("/") + 1);
  const agent = findAgent(subject, issuer);
  if (
    agent !== undefined &&
    !namespaces.some((pattern) => agent.startsWith(pattern.slice(0, -1)))
  ) {
    throw new SignalRefused("access_denied", `${issuer} may not speak for ${agent}`);
  }
  const { event_timestamp: own } = event;
  const atMs = own === undefined ? issuedAtMs : readSeconds(own, "event_timestamp");
  return {
    id: jti,
    issuer,
    atMs: Math.min(atMs, issuedAtMs),
    effect: agent === undefined ? "none" : findEffect(type, event),
    event: name,
    agent,
  };
}

/** SSF 1.0: seconds since 1970, as RFC 7519 counts them. */
function readSeconds(value: unknown, name: string): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value * 1000;
  throw new SignalRefused("invalid_request", `\`${name}\` must be a number of seconds`);
}

function readOnlyEvent(events: unknown): [type: string, event: Record<string, unknown>] {
  const all = isObject(events) ? Object.entries(events) : [];
  const [first] = all;
  if (all.length !== 1 || first === undefined || !isObject(first[1])) {
    throw new SignalRefused("invalid_request", "`events` must be an object with one event");
  }
  return [first[0], first[1]];
}

/** Signed-out sessions and new credentials say nothing against an agent. */
function findEffect(type: string, event: Record<string, unknown>): SignalEffect {
  if (type === `${RISC}account-disabled`) return "restrict";
  if (type === `${RISC}account-enabled`) return "restore";
  const isEnding = ENDING_CHANGES.has(event["change_type"]);
  return type === `${CAEP}credential-change` && isEnding ? "restrict" : "none";
}

/** RFC 9493, of which two formats can name an agent: `uri`, and `iss_sub` of the issuer itself. */
function findAgent(subject: unknown, issuer: string): string | undefined {
  if (!isObject(subject) || typeof subject["format"] !== "string") {
    throw new SignalRefused("invalid_request", "`sub_id` must be a subject with a `format`");
  }
  const { format, uri, iss, sub } = subject;
  if (format === "uri") return isAgentId(uri) ? uri : undefined;
  if (format === "iss_sub") return iss === issuer && isAgentId(sub) ? sub : undefined;
  return undefined;
}

/** Issuer, audience and tenant: the first stands in the case of a condition, with a time before it. */
const SIGNAL_NAME_BYTES_MAX = 224;
/** Issuers of one service. */
export const SIGNAL_ISSUERS_MAX = 100;

/**
 * Issuers as an operator's file lists them.
 * @throws Error that names the member at fault.
 */
export function parseSignalIssuers(document: unknown): SignalIssuer[] {
  if (!Array.isArray(document) || document.length > SIGNAL_ISSUERS_MAX) {
    throw new Error(`must be a list of at most ${SIGNAL_ISSUERS_MAX} issuers`);
  }
  const issuers = document.map((each: unknown, at) => parseSignalIssuer(each, `/${at}`));
  const names = issuers.map(({ issuer, tenant }) => `${tenant} ${issuer}`);
  const double = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (double >= 0) throw new Error(`/${double}/issuer: the tenant has this issuer already`);
  return issuers;
}

function parseSignalIssuer(value: unknown, pointer: string): SignalIssuer {
  if (!isObject(value)) throw new Error(`${pointer}: must be an object`);
  const text = (name: "issuer" | "audience" | "tenant") => {
    const found = value[name];
    const isText = typeof found === "string" && found !== "";
    if (isText && Buffer.byteLength(found) <= SIGNAL_NAME_BYTES_MAX) return found;
    throw new Error(`${pointer}/${name}: must be a text of at most ${SIGNAL_NAME_BYTES_MAX} bytes`);
  };
  const { jwks, namespaces } = value;
  const keys = isObject(jwks) ? jwks["keys"] : undefined;
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every(isPublicKey)) {
    throw new Error(`${pointer}/jwks/keys: must be a list of public keys (JWK)`);
  }
  const isPatterns = Array.isArray(namespaces) && namespaces.every(isNamespacePattern);
  if (!isPatterns || namespaces.length === 0) {
    throw new Error(`${pointer}/namespaces: must be a list of patterns as agent://acme/*`);
  }
  const named = { issuer: text("issuer"), audience: text("audience"), tenant: text("tenant") };
  const poll = value["poll"] === undefined ? {} : { poll: parsePollTarget(value["poll"], pointer) };
  return { ...named, jwks: { keys }, namespaces, ...poll };
}

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

function parsePollTarget(value: unknown, pointer: string): SignalPollTarget {
  const { url, token_file: file } = isObject(value) ? value : {};
  const target = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  const isLoopback = target?.protocol === "http:" && LOOPBACK_HOSTS.has(target.hostname);
  if (target?.protocol !== "https:" && !isLoopback) {
    throw new Error(`${pointer}/poll/url: must be an https URL`);
  }
  if (file === undefined) return { url: target.href };
  if (typeof file !== "string") throw new Error(`${pointer}/poll/token_file: must be a file`);
  return { url: target.href, token_file: file };
}

/** Symmetric and private keys have no place in a file of what others sign by. */
function isPublicKey(key: unknown): key is Record<string, unknown> {
  return isObject(key) && typeof key["kty"] === "string" && key["kty"] !== "oct" && !("d" in key);
}

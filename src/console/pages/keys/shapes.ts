// Keys as the page shows them: their states, the filter of the address, what each scope lets a key do.
import type { MessageOf } from "../../../contract/schemas/schema.ts";
import type { KeyList } from "../../../contract/schemas/service.ts";
import type { Scope } from "../../../contract/vocabulary.ts";
import type { Parameters } from "../../location.ts";

export type Key = MessageOf<typeof KeyList>["keys"][number];

/** A key with the text that is shown once. */
export interface KeyWithSecret extends Key {
  readonly key: string;
}

/** Each scope in words, in the order of the form. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  "score:read": "ask for verdicts and scores",
  "outcomes:write": "report outcomes",
  "evidence:write": "register sources, check texts",
  "keys:write": "register reporters' signing keys",
  "kaizen:run": "start learning runs",
  "analytics:read": "ask in SQL, read lists and exports",
  "metrics:read": "read metrics",
  "reviews:decide": "decide reviews",
  admin: "everything, keys too",
};
export const SCOPES = Object.keys(SCOPE_WORDS) as Scope[];

export const DAY_MS = 86_400_000;
/** A key that ends within these days is counted apart. */
export const SOON_DAYS = 14;

export const STATES = {
  active: "active",
  unused: "active, unused for 90 days",
  ending: `active, ends within ${SOON_DAYS} days`,
  rotating: "active, an earlier secret still works",
  expired: "expired",
  revoked: "revoked",
  all: "all",
} as const;
export type State = keyof typeof STATES;

export function computeKeyState(key: Key, nowMs: number): "active" | "expired" | "revoked" {
  if (key.revoked_at !== null) return "revoked";
  const isOver = key.expires_at !== null && Date.parse(key.expires_at) <= nowMs;
  return isOver ? "expired" : "active";
}

/** Whether an earlier secret of an active key works. */
export function isRotating(key: Key, nowMs: number): boolean {
  const { overlap_ends_at: until } = key;
  return computeKeyState(key, nowMs) === "active" && until !== null && Date.parse(until) > nowMs;
}

export function isIn(key: Key, state: State, nowMs: number): boolean {
  if (state === "all") return true;
  const own = computeKeyState(key, nowMs);
  if (state === "expired" || state === "revoked") return own === state;
  if (own !== "active") return false;
  if (state === "unused") return key.last_used_at === null;
  if (state === "rotating") return isRotating(key, nowMs);
  if (state === "active") return true;
  return key.expires_at !== null && Date.parse(key.expires_at) - nowMs < SOON_DAYS * DAY_MS;
}

export function chosenState({ state = "active" }: Parameters): State {
  return Object.hasOwn(STATES, state) ? (state as State) : "active";
}

/** Those that the address asks for, newest first. */
export function keysThat(keys: readonly Key[], parameters: Parameters, nowMs: number): Key[] {
  const { text = "", tenant, scope } = parameters;
  const sought = text.toLowerCase();
  const state = chosenState(parameters);
  const fits = (key: Key) =>
    isIn(key, state, nowMs) &&
    (!tenant || key.tenant === tenant) &&
    (!scope || (key.scopes as readonly string[]).includes(scope)) &&
    `${key.key_id} ${key.label ?? ""} ${key.tenant}`.toLowerCase().includes(sought);
  return keys.filter(fits).toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
}

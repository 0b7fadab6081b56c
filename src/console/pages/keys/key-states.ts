// States of API keys (active, expired, revoked, ...), the filters of the list, and descriptions of scopes.
import { DAY_MS } from "../../format.ts";
import type { MessageOf } from "../../../contract/schemas/schema.ts";
import type { KeyList } from "../../../contract/schemas/service.ts";
import type { Scope } from "../../../contract/vocabulary.ts";
import type { PageParameters } from "../../location.ts";

export type ListedKey = MessageOf<typeof KeyList>["keys"][number];

/** A key with the text that is shown once. */
export interface KeyWithSecret extends ListedKey {
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
  "conditions:restrict": "suspend and watch agents, stop the fleet",
  "conditions:clear": "clear agents",
  "signals:write": "send security signals",
  admin: "everything, keys too",
};
export const SCOPES = Object.keys(SCOPE_WORDS) as Scope[];

/** Days without a use after which a key counts as unused: as long as uses are counted. */
export const UNUSED_DAYS = 90;

/** A key that ends within these days is counted apart. */
export const SOON_DAYS = 14;

export const KEY_STATE_LABELS = {
  active: "active",
  unused: `active, unused for ${UNUSED_DAYS} days`,
  ending: `active, ends within ${SOON_DAYS} days`,
  rotating: "active, an earlier secret still works",
  expired: "expired",
  revoked: "revoked",
  all: "all",
} as const;
export type KeyStateFilter = keyof typeof KEY_STATE_LABELS;

export function computeKeyState(key: ListedKey, nowMs: number): "active" | "expired" | "revoked" {
  if (key.revoked_at !== null) return "revoked";
  const isOver = key.expires_at !== null && Date.parse(key.expires_at) <= nowMs;
  return isOver ? "expired" : "active";
}

/** Whether an earlier secret of an active key works. */
export function isRotating(key: ListedKey, nowMs: number): boolean {
  const { overlap_ends_at: until } = key;
  return computeKeyState(key, nowMs) === "active" && until !== null && Date.parse(until) > nowMs;
}

/** Whether it is old enough for "unused" to say something. */
export function isOld({ created_at: at }: ListedKey, nowMs: number): boolean {
  return nowMs - Date.parse(at) >= UNUSED_DAYS * DAY_MS;
}

export function isInState(key: ListedKey, state: KeyStateFilter, nowMs: number): boolean {
  if (state === "all") return true;
  const own = computeKeyState(key, nowMs);
  if (state === "expired" || state === "revoked") return own === state;
  if (own !== "active") return false;
  if (state === "unused") return key.last_used_at === null && isOld(key, nowMs);
  if (state === "rotating") return isRotating(key, nowMs);
  if (state === "active") return true;
  return key.expires_at !== null && Date.parse(key.expires_at) - nowMs < SOON_DAYS * DAY_MS;
}

export function readStateFilter({ state = "active" }: PageParameters): KeyStateFilter {
  return Object.hasOwn(KEY_STATE_LABELS, state) ? (state as KeyStateFilter) : "active";
}

/** Those that the address asks for, newest first. */
export function selectKeys(
  keys: readonly ListedKey[],
  parameters: PageParameters,
  nowMs: number,
): ListedKey[] {
  const { text = "", tenant, scope } = parameters;
  const sought = text.toLowerCase();
  const state = readStateFilter(parameters);
  const fits = (key: ListedKey) =>
    isInState(key, state, nowMs) &&
    (!tenant || key.tenant === tenant) &&
    (!scope || (key.scopes as readonly string[]).includes(scope)) &&
    `${key.key_id} ${key.label ?? ""} ${key.tenant}`.toLowerCase().includes(sought);
  return keys.filter(fits).toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));
}

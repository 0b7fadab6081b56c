// A policy's `actions`, compiled once per version: the tool level and the stakes of a request by its action,
// its resource and its properties. Equality and whole segments, no regular expressions. A policy without
// entries costs one comparison.
import { parseFactPointer } from "../contract/actions.ts";
import type { ActionEntry, ConditionValue, RequestFacts } from "../contract/actions.ts";
import { invalidRequest } from "../contract/faults.ts";
import { STAKES_MAX } from "../contract/limits.ts";
import type { Policy } from "../contract/policy.ts";
import { TOOL_LEVELS } from "../contract/vocabulary.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";

/** A request as entries see it. */
export interface ActionQuery {
  readonly action: string;
  /** The level that the request names; undefined for none. */
  readonly toolLevel: ToolLevel | undefined;
  /** In the tenant's unit; undefined where the request names none. */
  readonly stakes: number | undefined;
  readonly facts: RequestFacts;
  /** Whether properties of the request may also lower the level. */
  readonly assertsProperties: boolean;
}

export interface ActionDecision {
  /** Index of the entry that decided; -1 where the request's own level, or L3, counts. */
  readonly entry: number;
  readonly toolLevel: ToolLevel;
  /** Undefined: none are named, by the request or by an entry that applies. */
  readonly stakes: number | undefined;
}

interface CompiledPattern {
  /** What the text equals, or begins with: then it ends with a separator, or is empty for any text. */
  readonly text: string;
  readonly isExact: boolean;
}

interface CompiledCondition {
  readonly path: readonly string[];
  readonly expected: ConditionValue;
}

/** One entry, ready for the hot path. */
export interface CompiledEntry {
  readonly index: number;
  readonly match: CompiledPattern;
  readonly resource: CompiledPattern | undefined;
  readonly conditions: readonly CompiledCondition[];
  readonly levelIndex: number;
  readonly stakesPointer: string | undefined;
  readonly stakesPath: readonly string[] | undefined;
}

const LEVEL_OF_NONE = TOOL_LEVELS.indexOf("L3");

/** The entries of a policy, compiled; undefined where it lists none. */
export function compileActions({ actions }: Policy): readonly CompiledEntry[] | undefined {
  return actions === undefined || actions.length === 0 ? undefined : actions.map(compileEntry);
}

/**
 * Level and stakes of a request. The first entry that matches decides; the level that the request names can
 * only raise it. Where properties are not trusted, conditions too can only raise it: every entry that matches
 * counts up to the first without conditions, and the strictest decides.
 * @throws ServiceFault `invalid_request` where an entry's `stakes` leads to something that is no amount.
 */
export function decideAction(
  entries: readonly CompiledEntry[],
  query: ActionQuery,
): ActionDecision {
  const { action, toolLevel, facts } = query;
  const named = toolLevel === undefined ? -1 : TOOL_LEVELS.indexOf(toolLevel);
  const resource = readResourceId(facts);
  let { stakes } = query;
  let entry = -1;
  let level = -1;
  let isDecided = false;
  for (const each of entries) {
    if (!matchesEntry(each, action, resource, facts)) continue;
    if (each.levelIndex > level) {
      entry = each.index;
      level = each.levelIndex;
    }
    const own = readStakes(each, facts);
    if (own !== undefined) stakes = Math.max(own, stakes ?? 0);
    isDecided = query.assertsProperties || each.conditions.length === 0;
    if (isDecided) break;
  }
  if (!isDecided) {
    const fallback = named < 0 ? LEVEL_OF_NONE : named;
    if (fallback > level) entry = -1;
    level = Math.max(level, fallback);
  }
  return { entry, toolLevel: TOOL_LEVELS[Math.max(level, named)]!, stakes };
}

function compileEntry(entry: ActionEntry, index: number): CompiledEntry {
  const { match, resource, when = {}, level, stakes } = entry;
  return {
    index,
    match: compilePattern(match),
    resource: resource === undefined ? undefined : compilePattern(resource),
    conditions: Object.entries(when).map(([pointer, expected]) => ({
      path: parseFactPointer(pointer) ?? [],
      expected,
    })),
    levelIndex: TOOL_LEVELS.indexOf(level),
    stakesPointer: stakes,
    stakesPath: stakes === undefined ? undefined : parseFactPointer(stakes),
  };
}

function compilePattern(pattern: string): CompiledPattern {
  const isExact = !pattern.endsWith("*");
  return { text: isExact ? pattern : pattern.slice(0, -1), isExact };
}

/** A prefix needs something behind it: `wire.*` is not `wire`. */
function matchesPattern({ text, isExact }: CompiledPattern, value: string): boolean {
  return isExact ? value === text : value.length > text.length && value.startsWith(text);
}

function matchesEntry(
  entry: CompiledEntry,
  action: string,
  resource: string,
  facts: RequestFacts,
): boolean {
  if (!matchesPattern(entry.match, action)) return false;
  if (entry.resource !== undefined && !matchesPattern(entry.resource, resource)) return false;
  for (const { path, expected } of entry.conditions) {
    if (readFact(facts, path) !== expected) return false;
  }
  return true;
}

/** `resource.id`; empty, which no pattern matches, where the request names none. */
function readResourceId({ resource }: RequestFacts): string {
  const id = readMember(resource, "id");
  return typeof id === "string" ? id : "";
}

function readFact(facts: RequestFacts, path: readonly string[]): unknown {
  let value: unknown = facts;
  for (const name of path) value = readMember(value, name);
  return value;
}

/** Own members alone; of a list the element at an index without leading zeros. */
function readMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  if (Array.isArray(value) && String(Number(name)) !== name) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** Undefined where the request has nothing there. */
function readStakes(entry: CompiledEntry, facts: RequestFacts): number | undefined {
  const { stakesPath, stakesPointer } = entry;
  if (stakesPath === undefined) return undefined;
  const found = readFact(facts, stakesPath);
  if (found === undefined) return undefined;
  if (typeof found === "number" && found >= 0 && found <= STAKES_MAX) return found;
  const detail = `must be a number from 0 to ${STAKES_MAX}: the policy's \`/actions/${entry.index}/stakes\` reads it`;
  const code = typeof found === "number" ? "range" : "type";
  throw invalidRequest([{ pointer: stakesPointer!, code, detail }]);
}

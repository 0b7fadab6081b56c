// Conditions: an operator's word about an agent or a namespace (suspended, watch, cleared), and stops, which hold
// all agents of a tenant or of the bureau. The journal has these events, kind `condition`, as JSON.
import { isReservedAgent, isScoredId, isNamespacePattern } from "../identifiers.ts";
import { DAY_MS } from "../units.ts";
import type { ToolLevel } from "../vocabulary.ts";

export const CONDITION_STATES = ["suspended", "watch", "cleared"] as const;
export type ConditionState = (typeof CONDITION_STATES)[number];

/** Whose word: a tenant's, for its own requests, or the operator's of the bureau, for all tenants. */
export const CONDITION_SCOPES = ["tenant", "bureau"] as const;
export type ConditionScope = (typeof CONDITION_SCOPES)[number];

/** Conditions in force of one tenant or of the bureau, and of all. */
export const CONDITIONS_PER_TENANT_MAX = 20_000;
export const CONDITIONS_MAX = 100_000;
/** Conditions of one request. */
export const CONDITION_BATCH_MAX = 1000;
/** Ended conditions that are kept for replay; the oldest are forgotten first. */
export const PAST_CONDITIONS_MAX = 100_000;
/** How long an ended condition is kept for replay at most. */
export const PAST_CONDITION_RETENTION_MS = 400 * DAY_MS;
/** A `cleared` holds for at most so long. */
export const CLEARED_MS_MAX = 366 * DAY_MS;
export const CONDITION_CODE_LENGTH_MAX = 64;
/** Text of a reason, in bytes. */
export const CONDITION_TEXT_BYTES_MAX = 1024;
/** Case number or link, in bytes. */
export const CONDITION_CASE_BYTES_MAX = 256;

/** The reason code by which a suspension of the bureau is also a fraud flag. */
export const FRAUD_REASON = "fraud";

export interface ConditionReason {
  /** Short, for programs: `fraud`. */
  readonly code: string;
  /** For people; null where the code says all. Never shown to other tenants. */
  readonly text: string | null;
}

/** What an operator has said, without who and about whom. */
export interface Condition {
  readonly state: ConditionState;
  /** Tool levels that it is about; null for all. */
  readonly levels: readonly ToolLevel[] | null;
  /**
   * Of `cleared`: up to these stakes, in the tenant's unit or, of the bureau, in the unit of account; null: up to
   * those that a level assumes.
   */
  readonly max_stakes: number | null;
  /** Epoch ms, exclusive; null: until it is lifted. */
  readonly until_ms: number | null;
  readonly reason: ConditionReason;
  readonly case: string | null;
}

/** A stop holds all agents at the levels above one. */
export interface FleetStop {
  /** The highest level that is not held; null: every level is held. */
  readonly above: ToolLevel | null;
  readonly until_ms: number | null;
  readonly reason: ConditionReason;
  readonly case: string | null;
}

interface EventOrigin {
  readonly at_ms: number;
  /** Null: of the bureau, for all tenants. */
  readonly tenant: string | null;
  /** Id of the API key that did it. */
  readonly actor: string;
  /** `Principal.via`; left out for a key. */
  readonly via?: string;
}

export interface ConditionSetEvent extends EventOrigin {
  readonly event: "condition.set";
  /** An agent's name, or a namespace as `agent://acme/*`. */
  readonly subject: string;
  readonly condition: Condition;
}

export interface ConditionLiftedEvent extends EventOrigin {
  readonly event: "condition.lifted";
  readonly subject: string;
}

export interface StopSetEvent extends EventOrigin {
  readonly event: "stop.set";
  readonly stop: FleetStop;
}

export interface StopLiftedEvent extends EventOrigin {
  readonly event: "stop.lifted";
}

/** Journal payload of a record of kind `condition`, as JSON. */
export type ConditionEvent =
  | ConditionSetEvent
  | ConditionLiftedEvent
  | StopSetEvent
  | StopLiftedEvent;

/** The event in a journal payload. */
export function decodeConditionEvent(payload: Uint8Array): ConditionEvent {
  return JSON.parse(Buffer.from(payload).toString()) as ConditionEvent;
}

export function encodeConditionEvent(event: ConditionEvent): Buffer {
  return Buffer.from(JSON.stringify(event));
}

/** Whether a condition can be about it: any scored agent but the reserved test agents, or a namespace. */
export function isConditionSubject(value: unknown): value is string {
  return isNamespacePattern(value) || (isScoredId(value) && !isReservedAgent(value));
}

/** Whether something that ends at `untilMs` (null: never) holds at `nowMs`, epoch ms. */
export function isInForce(untilMs: number | null, nowMs: number): boolean {
  return untilMs === null || untilMs > nowMs;
}

// The decision log's port: what a decision leaves behind when it is made, and which of it to read
// (how it reads back: schemas/decisions.ts). One entry per leg: a handshake leaves two.
import type { Principal } from "./principal.ts";

/** The question that was asked. Gateways and AuthZEN ask `verify`. */
export const DECISION_KINDS = ["verify", "check", "handshake"] as const;

/** Which direction of a handshake; the first for all that have one leg. */
export const DECISION_LEGS = ["a_to_b", "b_to_a"] as const;

/** Stands for "does not apply" in the indexes of an entry. */
export const NOT_APPLICABLE = 255;

/** One leg as the bureau hands it to the log. Reused: the log copies what it keeps. */
export interface DecisionEntry {
  requestId: string;
  /** 32 hexadecimal digits in lower case, or empty. */
  traceId: string;
  principal: Principal;
  /** Index into DECISION_KINDS, DECISION_LEGS, TOOL_LEVELS, VERDICTS, DECISIONS. */
  kindIndex: number;
  legIndex: number;
  toolLevelIndex: number;
  verdictIndex: number;
  /** Of the whole answer; a leg may have been clearer. */
  decisionIndex: number;
  legDecisionIndex: number;
  tierIndex: number;
  /** -1 without history. */
  regimeIndex: number;
  /** False in shadow mode, of the key or the policy: answered, not to be applied. */
  isEnforced: boolean;
  /** Whether the answer lets the caller go on, before shadow mode. */
  isLetThrough: boolean;
  /** Marked for a person to look at (SPEC §8.2). */
  isFlagged: boolean;
  isKnown: boolean;
  /** One of the reserved test agents: the inputs say nothing about the answer. */
  isReserved: boolean;
  subject: string;
  /** The party that looks, in a handshake; else empty. */
  viewer: string;
  action: string;
  /** Age of the agent's session in seconds, as verify was given it; -1 where it was not. */
  sessionSeconds: number;
  stakes: number;
  failureProbability: number;
  failureOptimistic: number;
  failurePessimistic: number;
  scoreInternal: number;
  scoreEffective: number;
  stakesMax: number;
  /** The minimum that counted at this tool level, the key's or the policy's; 0 where none does. */
  scoreMinimum: number;
  logReason: string;
  /** Broken provenance that the policy took into account, or empty. */
  hardFailureCode: string;
  reasonCodes: readonly string[];
  configVersion: string;
  /** The policy in force for the asking tenant. */
  policyVersion: string;
  evaluatedAtMs: number;
  /** What the engine judged from (`EngineReader.legInputs`). */
  inputs: Float64Array;
}

/** Where decisions go. */
export interface DecisionLog {
  /**
   * Whether a leg that lets through may be recorded at `nowMs`: so many a second. One that may not
   * is counted as dropped, before anything was spent on it.
   */
  mayRecord(nowMs: number): boolean;
  /**
   * Takes one leg; returns at once. What lets through may be dropped (and is counted) when the log
   * cannot keep up; anything else is kept, or ServiceFault `overloaded` is thrown.
   */
  record(entry: DecisionEntry): void;
}

/** Which decisions to read. */
export interface DecisionFilter {
  /** Undefined: of every tenant. */
  tenant: string | undefined;
  requestId?: string;
  /** Subject or viewer. */
  agent?: string;
  sinceMs?: number;
  limit: number;
}

/** How a person settles a decision that was marked for review. */
export const REVIEW_RESOLUTIONS = ["upheld", "overturned", "dismissed"] as const;

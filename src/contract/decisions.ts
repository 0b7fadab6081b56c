// The decision log's port: what a decision leaves behind when it is made, and which of it to read
// (how it reads back: schemas/decisions.ts). One entry per leg: a handshake leaves two.
import type { Principal } from "./principal.ts";
import { type Decision, FEATURES, type ToolLevel, type Verdict } from "./vocabulary.ts";

/** The question that was asked. Gateways and AuthZEN ask `verify`. */
export const DECISION_KINDS = ["verify", "check", "handshake"] as const;

/** Which direction of a handshake; the first for all that have one leg. */
export const DECISION_LEGS = ["a_to_b", "b_to_a"] as const;

/**
 * Inputs of a leg in their order, as the log keeps them (LEG_INPUTS of assembly/layout.ts). The first is
 * the number of the config in its process. `batch` keeps the name of what once stood there: it is the
 * number of outcomes, and 0 in rows from before that.
 */
export const DECISION_INPUTS: readonly string[] = [
  "",
  "log_odds",
  "log_odds_sd",
  "mean",
  "viewer_mean",
  "evidence_weight",
  "stakes_proven",
  "mean_variance",
  "base_rate",
  "viewer_variance",
  "batch",
  "standing_bits",
  "failure_weight",
  "shock_days",
  ...FEATURES.map((name) => `x_${name}`),
  "record_mean",
  "record_variance",
  "silent_days",
];

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
  isAllowed: boolean;
  /** Marked for a person to look at (SPEC §8.2). */
  isFlagged: boolean;
  isKnown: boolean;
  /** One of the reserved test agents: the inputs say nothing about the answer. */
  isReserved: boolean;
  /** Sampled last: denied, flagged, reviewed, vouched for, or asked with stakes. */
  isKeptFirst: boolean;
  /** Decisions that this one stands for: the inverse of the probability with which it was kept. */
  weight: number;
  subject: string;
  /** The party that looks, in a handshake; else empty. */
  viewer: string;
  action: string;
  /** Index of the entry of the policy's `actions` that decided the level; -1 for none. */
  actionEntry: number;
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
  failureCode: string;
  reasonCodes: readonly string[];
  configVersion: string;
  /** The policy in force for the asking tenant. */
  policyVersion: string;
  evaluatedAtMs: number;
  /** What the engine judged from (`EngineReader.legInputs`). */
  inputs: Float64Array;
}

/** Where decisions go. Every decision is counted exactly, recorded or not. */
export interface DecisionLog {
  /**
   * Decides whether a leg is recorded and sets its weight; calls that are not recorded end here, counted.
   * Reads of the entry: ids, caller, kind, leg, level, result, rule, versions, marks, stakes and time.
   */
  admit(entry: DecisionEntry): boolean;
  /**
   * Takes one admitted leg; returns at once.
   * @throws ServiceFault `overloaded` when the log cannot keep up: then the decision must not be given.
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
  /** The agent judged. */
  subject?: string;
  sinceMs?: number;
  /** Only entries behind this place of the list. */
  before?: DecisionListCursor;
  /** Chosen by somebody who sees every tenant; `tenant` is what the asker may see at all. */
  ofTenant?: string;
  verdict?: Verdict;
  decision?: Decision;
  effective?: (typeof DECISION_EFFECTS)[number];
  disposition?: Disposition;
  kind?: (typeof DECISION_KINDS)[number];
  level?: ToolLevel;
  /** The rule that decided, or one of the reason codes. */
  reason?: string;
  config?: string;
  isFlagged?: boolean;
  /** True: only what was not enforced. */
  isShadow?: boolean;
  limit: number;
}

/** What a decision came to for the caller. */
export const DECISION_EFFECTS = ["allow", "deny"] as const;

/**
 * What an answer asks of the caller, from mildest to strictest: proceed, verify first, wait for a reviewer's
 * decision, stop. In shadow mode it is answered and not enforced.
 */
export const DISPOSITIONS = ["allow", "step_up", "person", "refuse"] as const;
export type Disposition = (typeof DISPOSITIONS)[number];

/**
 * Place in the list of decisions, which goes from the newest down, within a millisecond by request id
 * and leg. Without an id: before the first entry of that millisecond.
 */
export interface DecisionListCursor {
  evaluatedMs: number;
  requestId?: string;
  leg?: (typeof DECISION_LEGS)[number];
}

/** What decisions are counted by; each is a filter of the same name, too. */
export const DECISION_FACETS = [
  "verdict",
  "decision",
  "effective",
  "disposition",
  "reason",
  "kind",
  "level",
  "flagged",
  "shadow",
  "config",
  "tenant",
] as const;
export type DecisionFacet = (typeof DECISION_FACETS)[number];

/** Newest entries that counts look at. */
export const COUNTED_ENTRIES_MAX = 200_000;

/** Decisions under a filter, counted by value, and over time. */
export interface DecisionCounts {
  /** Entries under the filter; those looked at for it; decisions that the former stand for. */
  entries: number;
  lookedAt: number;
  /** False where older entries were left out, or newer ones still wait to become rows. */
  isComplete: boolean;
  /** Whether some decisions have no entry and are part of another's weight. */
  isSampled: boolean;
  decisions: number;
  /** Of the entries looked at; epoch ms, undefined for none. */
  oldestMs: number | undefined;
  /** Most frequent values first. Each facet counts what all other filters leave. */
  facets: Record<DecisionFacet, { value: string; entries: number; decisions: number }[]>;
  /** Width of a step of `times` in ms. */
  stepMs: number;
  /** Decisions by step. */
  times: {
    atMs: number;
    allow: number;
    deny: number;
    dispositions: Record<Disposition, number>;
  }[];
}

/** How a person settles a decision that was marked for review. */
export const REVIEW_RESOLUTIONS = ["upheld", "overturned", "dismissed"] as const;

// The decision log's shapes: what a decision leaves behind when it is made, how it is read back,
// and what comes of judging it again. One entry per leg: a handshake leaves two.
import type { Principal } from "./messages.ts";
import type { Decision, Regime, Tier, ToolLevel, Verdict } from "./vocabulary.ts";

/** The question that was asked. Gateways and AuthZEN ask `verify`. */
export const DECISION_KINDS = ["verify", "check", "handshake"] as const;
export type DecisionKind = (typeof DECISION_KINDS)[number];

/** Which direction of a handshake; the first for all that have one leg. */
export const DECISION_LEGS = ["a_to_b", "b_to_a"] as const;
export type DecisionLeg = (typeof DECISION_LEGS)[number];

/** Stands for "does not apply" in the indexes of an entry. */
export const NOT_APPLICABLE = 255;

/** One leg as the bureau hands it to the log. Reused: the log copies what it keeps. */
export interface DecisionEntry {
  requestId: string;
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
  /** What the key asked for at this tool level; 0 where it has no say. */
  scoreMinimum: number;
  logReason: string;
  /** Broken provenance that the policy took into account, or empty. */
  hardFailureCode: string;
  reasonCodes: readonly string[];
  configVersion: string;
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

/** One leg as it is read back. */
export interface LoggedLeg {
  request_id: string;
  kind: DecisionKind;
  leg: DecisionLeg;
  tenant: string;
  key_id: string;
  subject: string;
  viewer: string | null;
  action: string | null;
  /** Whole seconds; null where verify was not given it. */
  session_duration_sec: number | null;
  tool_level: ToolLevel | null;
  stakes: number;
  /** What was decided; `effective`: what that came to; `enforced`: false in shadow mode. */
  verdict: Verdict | null;
  decision: Decision;
  leg_decision: Decision;
  effective: "allow" | "deny";
  enforced: boolean;
  flagged: boolean;
  known: boolean;
  is_test: boolean;
  internal_score: number;
  effective_score: number;
  minimum_score: number;
  failure_probability: number;
  failure_optimistic: number;
  failure_pessimistic: number;
  tier: Tier;
  regime: Regime | null;
  max_stakes: number | null;
  log_reason: string | null;
  hard_failure: string | null;
  reason_codes: string[];
  config_version: string;
  evaluated_at: string;
}

/** A leg with what it was judged from, for replay. */
export interface ReplayableLeg extends LoggedLeg {
  inputs: number[];
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

/** `POST /v1/decisions/{request_id}/replay`. */
export interface DecisionReplay {
  request_id: string;
  recorded_config: string;
  replayed_config: string;
  /** True when nothing differs. */
  identical: boolean;
  differences: { leg: DecisionLeg; member: string; recorded: unknown; replayed: unknown }[];
}

/** Body of `POST /v1/provenance`: what was written from which sources, told after the fact. */
export interface ProvenanceRecord {
  agent_id: string;
  action: string;
  content_hash: string;
  cited_sources: string[];
  /** The verdict it belongs to. */
  request_id?: string;
}

/** Body of `POST /v1/reviews/{request_id}`. */
export const REVIEW_RESOLUTIONS = ["upheld", "overturned", "dismissed"] as const;
export interface ReviewResolution {
  resolution: (typeof REVIEW_RESOLUTIONS)[number];
  note?: string;
}

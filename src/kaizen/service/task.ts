// What crosses between the service and the threads of kaizen and of credibility: nothing but data.
import type { ScoringConfig } from "../../engine/config.ts";
import type { SeedRules } from "../credibility/seeds.ts";
import type { StandingFigures } from "../credibility/standings.ts";
import type { SideWatch } from "../monitor.ts";
import type { Findings, RunOptions } from "../run.ts";

/** What the worker is at, by number. */
export const KAIZEN_STAGES = ["waiting", "replay", "attacks", "check", "handshake"] as const;

/** Shared with the service: [0] the stage, [1] its progress in thousandths. */
export interface KaizenWorkerData {
  progress: Int32Array;
}

export interface KaizenTask {
  journal: string;
  uptoLsn: number;
  champion: ScoringConfig;
  options: Omit<RunOptions, "gapMs" | "isPilot" | "credibility">;
  /** Whom the operator vouches for, where credibility is wanted. */
  seeds?: SeedRules;
  /** A promotion still watched: when it was, and the config it replaced. */
  watch?: { sinceMs: number; parent: ScoringConfig };
  /** No challenge, only the watch. */
  isWatchOnly?: boolean;
}

export interface KaizenResult {
  findings: Findings;
  rows: number;
  /** By scorecard that the promotion changed. */
  watch?: SideWatch[];
}

export interface CredibilityTask {
  journal: string;
  /** The journal is read up to here; must be durable. */
  uptoLsn: number;
  rules: SeedRules;
  config: ScoringConfig;
}

export interface CredibilityResult {
  /** Journal payloads in order; none when nothing changed. */
  payloads: Uint8Array[];
  /** Absent when the rules name nobody in the history. */
  figures?: StandingFigures;
}

// Options of kaizen as a service, given by whoever starts it.
import type { EvidenceKind } from "../../contract/vocabulary.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type { PolicyList } from "../../policy/policy-book.ts";
import type { Log } from "../../platform/log.ts";
import type { SeedRules } from "../credibility/seeds.ts";
import type { RunRecord } from "../kaizen.ts";
import type { ConfigLedger } from "./champion.ts";
import type { SharedPromotions } from "./shared-promotions.ts";
import type { runKaizenOnPool } from "./worker-pool.ts";

export interface Leadership {
  /** Whether the job is this process's now. */
  readonly isHeld: boolean;
  /** Calls back whenever the job becomes this process's; not for one that it has already. */
  onTaken(call: () => void): void;
}

export const ALWAYS_LEADER: Leadership = { isHeld: true, onTaken: () => undefined };

export interface KaizenOptions {
  dataDir: string;
  journal: string;
  ledger: ConfigLedger;
  clock: () => number;
  log: Log;
  /** Rows of evidence of a run at most; `EVIDENCE_ROWS` by default. */
  rowsMax?: number | undefined;
  /** Kinds of evidence that teach and test; all by default. */
  evidenceKinds?: readonly EvidenceKind[] | undefined;
  /** Seeds of credibility, where it is wanted; for gate G9. */
  seeds?: SeedRules | undefined;
  /** Config of this release, by default `data/config/default.json`. */
  shipped?: ScoringConfig;
  /** Task runner other than the pool; tests use it to inject failures. */
  runTask?: typeof runKaizenOnPool;
  /** Policies that a promoted config must leave whole; left out: of the shipped policy alone. */
  policies?: PolicyList | undefined;
  /** Changes of the live weights by other nodes of a cluster; left out: there are none. */
  shared?: SharedPromotions | undefined;
  /** Whether scheduled work is this node's; left out: it is. */
  leadership?: Leadership | undefined;
  /** Called for every run at its start and its end, for the store. */
  onRun?: (run: RunRecord) => void;
}

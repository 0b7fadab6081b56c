// Labels of a run's report: run states, scorecards, and each term of a score, for readers who have not
// read the code.
import { type EvidenceKind, FEATURES } from "../../contract/vocabulary.ts";
import type { ScoringModel } from "../../engine/config.ts";

/** By the state of a run. */
export const RUN_STATE_HEADLINES = {
  running: "Under way",
  kept: "The weights stay as they are",
  promoted: "New weights are live",
  dry_run: "A trial: nothing was changed",
  failed: "The run broke; the weights stay as they are",
} as const;

/** By the kind of a run. */
export const RUN_KIND_LABELS = {
  full: { title: "Weekly re-fit", about: "all weights are fitted anew, tested by eleven gates" },
  calibration: {
    title: "Daily calibration",
    about: "two numbers alone are fitted, level and slope, tested by three gates",
  },
} as const;

export const SIDE_LABELS = {
  check: {
    title: "One agent on its own",
    about: "The scorecard behind check and verify: how likely is this agent to fail?",
  },
  handshake: {
    title: "Two agents who deal with each other",
    about:
      "The scorecard behind handshake: how likely is the other side to fail, seen by this one?",
  },
} as const;

const FEATURE_LABELS: Readonly<Record<(typeof FEATURES)[number], string>> = {
  momentum: "lately worse than before",
  recent_failure: "a recent failure",
  viewer_short: "how much fails for this viewer lately",
  reciprocal_failure: "the other side failed us before",
  reciprocal_success: "the other side served us well before",
  stakes_novelty: "stakes above those proven",
  evidence: "amount of evidence",
  age: "age of the agent",
  hallucination: "invented content",
  unverified: "unverified sources",
  beta: "share of failures, plainly counted",
  latest_failures: "failures among the last few outcomes",
  broken_record: "failures in a row after a good record",
  praise_strength: "praise by agents with good records",
  viewer_latest: "failures among the viewer's last few reports",
  viewer_record: "the viewer's own record",
  stakes_untested: "stakes far above those proven",
};

export interface ScoreTerm {
  name: string;
  /** Number of the scorecard column. */
  column: number;
  of: (model: ScoringModel) => number;
}

/** Ingredients of a score, in the order of the scorecard columns. */
export const SCORE_TERMS: readonly ScoreTerm[] = [
  { name: "starting point", column: 0, of: (model) => model.intercept },
  { name: "how much fails these days", column: 1, of: (model) => model.base },
  { name: "record of the agent", column: 2, of: (model) => model.mean },
  { name: "severity of the viewer", column: 3, of: (model) => model.viewer },
  ...FEATURES.map((name, j) => ({
    name: FEATURE_LABELS[name],
    column: 4 + j,
    of: (model: ScoringModel) => model.weights[name] ?? 0,
  })),
];

/** After the number of rows. */
export const EVIDENCE_LABELS: Readonly<Record<EvidenceKind, string>> = {
  reporter: "by the reporter's key",
  bureau: "by the bureau for a first-party key",
  import: "by an import",
};

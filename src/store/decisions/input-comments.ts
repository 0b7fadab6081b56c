// Meanings of the logged inputs of a decision, for the columns of its view.
import type { FEATURES } from "../../contract/vocabulary.ts";

const FEATURE_COMMENTS: Readonly<Record<(typeof FEATURES)[number], string>> = {
  momentum: "how much worse the last two weeks are than the last months",
  recent_failure: "1 right after a failure, fading to 0",
  viewer_short: "share of failures that the viewer met in two weeks, handshake only",
  reciprocal_failure: "how much the subject has reported the viewer failing",
  reciprocal_success: "how much the subject has reported the viewer succeeding",
  stakes_novelty: "how far the stakes are above any that it has mastered",
  evidence: "amount of evidence, as a logarithm",
  age: "days since its first outcome, as a logarithm",
  hallucination: "texts of it found to be invented, fading, of at most 1",
  unverified: "texts of it that rest on broken sources, fading, of at most 1",
  beta: "share of failures, plainly counted, against that of everybody",
  latest_failures: "share of failures among its latest outcomes",
  broken_record: "how long a record of successes its latest failures broke",
  praise_strength: "how good the records are of those who reported its successes",
  viewer_latest: "share of failures among what the viewer reported lately, handshake only",
  viewer_record: "the viewer's own record as a subject, handshake only",
  stakes_untested: "how far the stakes are above those that many outcomes have borne",
};

/** By column; `x_` stands before the name of a feature. */
export const INPUT_COMMENTS: Readonly<Record<string, string>> = {
  log_odds: "log-odds of failure: the logistic of it is the expected probability",
  log_odds_sd: "standard deviation of log_odds",
  mean: "subject mean: the check track, or in a handshake the handshake track",
  viewer_mean: "severity of the viewing party, handshake only",
  evidence_weight: "weight of all outcomes about the subject, as they count now",
  stakes_proven: "stakes up to which the subject has succeeded, fading",
  mean_variance: "variance of mean: large while little is known",
  base_rate: "log-odds of failure of the whole population",
  viewer_variance: "variance of viewer_mean, handshake only",
  batch:
    "outcomes ever counted about the subject, below zero while it is in a ring; the name is that of an older version",
  standing_bits: "marks of the subject, as bits: revoked key, seed, signs, discounted",
  failure_weight: "weight of the subject's failures when the last outcome came in",
  shock_days: "days since a sudden change of its behaviour, -1 without one",
  record_mean: "mean of the check track, by which verify holds the record back",
  record_variance: "variance of record_mean; 0 in rows of older versions",
  silent_days: "days since the subject was heard of, by weight; -1 never",
  ...Object.fromEntries(
    Object.entries(FEATURE_COMMENTS).map(([name, comment]) => [`x_${name}`, comment]),
  ),
};

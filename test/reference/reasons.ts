// Slow, obvious reasons: every code with its points, by the design's formulas, and the reporters of
// a record counted report by report. Nothing shared with assembly/ but the numbers of the config.
import { STANDING_BITS } from "../../src/contract/standings.ts";
import type { ReasonCode } from "../../src/contract/vocabulary.ts";
import type { ReferenceBureau, ReferenceLeg } from "./score.ts";

/** Reporters, each as heavy as the other, that make a record broad. */
const ENOUGH = 3;
const DAY_SECONDS = 86_400;

export interface ReferenceVoices {
  /** Sum of the squares of the reporters' shares of the record: 1 over their effective number. */
  concentration: number;
  /** Sum of the squares of the single words over that of the reporters: 1 when nobody repeats. */
  single: number;
  /** Share of the record that is praise from agents that the agent praised. */
  mutual: number;
}

const squares = (values: Iterable<number>): number =>
  [...values].reduce((sum, value) => sum + value * value, 0);

/** Who the record of `subject` comes from; undefined while nothing that counts is on it. */
export function voicesOf(bureau: ReferenceBureau, subject: string): ReferenceVoices | undefined {
  const said = bureau.words.filter((word) => word.room > 0);
  const about = said.filter((word) => word.subject === subject);
  if (about.length === 0) return undefined;
  const newest = Math.max(...about.map((word) => word.at));
  const masses = about.map(
    (word) => word.room * Math.exp((word.at - newest) / DAY_SECONDS / bureau.config.pair_tau_days),
  );
  const byReporter = new Map<string, number>();
  const praised = new Set(
    said.filter((word) => word.reporter === subject && word.failure === 0).map((w) => w.subject),
  );
  praised.delete(subject);
  let total = 0;
  let mutual = 0;
  about.forEach(({ reporter, failure }, i) => {
    const mass = masses[i]!;
    byReporter.set(reporter, (byReporter.get(reporter) ?? 0) + mass);
    total += mass;
    if (failure === 0 && praised.has(reporter)) mutual += mass;
  });
  const all = squares(byReporter.values());
  return {
    concentration: all / total ** 2,
    single: squares(masses) / all,
    mutual: mutual / total,
  };
}

/** How many times the record's weight its outcomes would have from reporters of their own. */
export function breadthMissing(voices: ReferenceVoices | undefined): number {
  if (voices === undefined) return 1;
  const heard = (1 - voices.mutual / 2) / voices.concentration;
  return Math.max(1, Math.min(ENOUGH / heard, 1 / voices.single));
}

/** Every code a leg could name, with its points; those of no weight are left out. */
export function reasonPoints(
  bureau: ReferenceBureau,
  subject: string,
  viewer: string | null,
  leg: ReferenceLeg,
): Map<ReasonCode, number> {
  const c = bureau.config;
  const model = viewer === null ? c.check : c.handshake;
  const cost = (feature: string): number => {
    const weight = model.weights[feature] ?? 0;
    const value = leg.features.get(feature) ?? 0;
    return c.score_factor * weight * (value - (model.references[feature] ?? 0));
  };
  /** A default costs nothing: only what was observed against the agent is a reason. */
  const observed = (feature: string): number =>
    (leg.features.get(feature) ?? 0) > 0 ? cost(feature) : 0;
  const points = new Map<ReasonCode, number>();
  const shift = leg.mean - model.mean_reference;
  const runs = cost("latest_failures") + cost("broken_record");
  const history = c.score_factor * model.mean * shift + cost("beta") + runs;
  let thin = c.score_factor * c.caution * (leg.sd - model.sd_reference);
  thin += cost("evidence") + cost("age") + cost("praise_strength");
  if (leg.failures > 0) points.set("FAILURE_HISTORY", history);
  else thin += history;
  const voices = voicesOf(bureau, subject);
  const missing = breadthMissing(voices);
  const information = 1 / leg.subjectVariance - 1 / c.subject_variance;
  const broad = 1 / (1 / c.subject_variance + missing * information);
  const broadSd = Math.sqrt(leg.sd ** 2 - model.mean ** 2 * (leg.subjectVariance - broad));
  const more = Math.log(1 + leg.evidence * missing) - Math.log(1 + leg.evidence);
  const gain = c.caution * (leg.sd - broadSd) - (model.weights.evidence ?? 0) * more;
  const narrow = missing > 1 ? c.score_factor * gain : 0;
  const isCircle = (voices?.mutual ?? 0) >= 0.5;
  points.set(isCircle ? "RING_PATTERN" : "CONCENTRATED_REPORTERS", narrow);
  if (narrow >= c.reason_points) thin -= narrow;
  const flags = bureau.standings.get(subject)?.flags ?? 0;
  const isDiscounted = (flags & STANDING_BITS.discounted) !== 0;
  if (isDiscounted) points.set("LOW_CREDIBILITY_EVIDENCE", thin);
  else if (leg.isThin) points.set("THIN_FILE", Math.max(thin, c.reason_points));
  points.set("RECENT_FAILURE", observed("recent_failure"));
  if ((leg.features.get("recent_failure") ?? 0) >= 0.135) {
    points.set("NEGATIVE_TREND", observed("momentum"));
  }
  points.set("HALLUCINATION_SIGNAL", observed("hallucination"));
  points.set("UNVERIFIED_SOURCES", observed("unverified"));
  points.set("STAKE_ABOVE_PROVEN", observed("stakes_novelty") + observed("stakes_untested"));
  if (viewer !== null) {
    const severity = c.score_factor * model.viewer * Math.max(0, leg.viewerMean);
    const short = Math.max(0, leg.features.get("viewer_short") ?? 0);
    const told = observed("reciprocal_failure") + observed("reciprocal_success");
    const lately = c.score_factor * (model.weights["viewer_short"] ?? 0) * short;
    const own = observed("viewer_latest") + observed("viewer_record");
    points.set("VIEWER_CAUTIOUS", severity + lately + told + own);
  }
  return points;
}

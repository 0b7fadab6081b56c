// Slow, obvious score over the filters of reference/fold.ts, by the design's formulas, with nothing
// shared with assembly/ but the numbers of the config.
import { FEATURES } from "../../src/contract/vocabulary.ts";
import type { ScoringModel } from "../../src/engine/config.ts";
import { clip, days, ou, ReferenceFold, sig } from "./fold.ts";
import type { Agent } from "./fold.ts";
import { FailedTexts } from "./texts.ts";

export interface ReferenceLeg {
  eta: number;
  sd: number;
  probability: number;
  optimistic: number;
  pessimistic: number;
  internal: number;
  effective: number;
  tier: number;
  regime: number;
  isRefused: boolean;
  isDenied: boolean;
  isThin: boolean;
  /** Whether the record may deny at all. */
  isJudged: boolean;
  /** Cautious probability of failure at the stakes of the question. */
  stakesRisk: number;
  /** What the reasons are counted from. */
  mean: number;
  subjectVariance: number;
  viewerMean: number;
  features: Map<string, number>;
  evidence: number;
  failures: number;
}

/** Fold and score together. */
export class ReferenceBureau extends ReferenceFold {
  readonly texts = new FailedTexts(this.config);

  /** Scores `subject`; with a viewer the handshake model, else the check model. */
  score(subject: string, viewer: string | null, stakes: number, now: number): ReferenceLeg {
    const c = this.config;
    const model = viewer === null ? c.check : c.handshake;
    const agent = this.agents.get(subject);
    const row = agent !== undefined && agent.outcomes > 0 ? agent : undefined;
    const view = viewer === null ? undefined : this.agents.get(viewer);
    const track =
      row &&
      ou(
        viewer === null ? row.mA : row.mB,
        viewer === null ? row.vA : row.vB,
        c.subject_variance,
        c.subject_tau_days,
        days(row.subjectAt, now),
      );
    const severity =
      view !== undefined && view.reporterAt > 0
        ? ou(view.s, view.vR, c.reporter_variance, c.reporter_tau_days, days(view.reporterAt, now))
        : { m: 0, v: c.reporter_variance };
    const mean = track?.m ?? 0;
    let variance = model.mean ** 2 * (track?.v ?? c.subject_variance);
    let eta = model.intercept + model.base * this.g + model.mean * mean;
    if (viewer !== null) {
      eta += model.viewer * severity.m;
      variance += model.viewer ** 2 * severity.v;
    }
    const features = this.#features(row, subject, viewer, stakes, now, mean);
    const texts = this.texts.featuresOf(subject, now);
    if (texts !== undefined) {
      features.set("hallucination", texts[0]);
      features.set("unverified", texts[1]);
    }
    FEATURES.forEach((name) => (eta += (model.weights[name] ?? 0) * (features.get(name) ?? 0)));
    return {
      ...this.#leg(eta, Math.sqrt(variance), model, row, features, now, {
        subjectVariance: track?.v ?? c.subject_variance,
        viewerPart: viewer === null ? undefined : model.viewer * severity.m,
      }),
      mean,
      subjectVariance: track?.v ?? c.subject_variance,
      viewerMean: severity.m,
      features,
    };
  }

  #features(
    row: Agent | undefined,
    subject: string,
    viewer: string | null,
    stakes: number,
    now: number,
    mean: number,
  ): Map<string, number> {
    const c = this.config;
    const x = new Map<string, number>();
    const k = c.prior_weight;
    const p0 = sig(this.g);
    const odds = (f: number, s: number) => Math.log((f + k * p0) / (s + k * (1 - p0)));
    let proven = 0;
    if (row !== undefined) {
      const dt = days(row.subjectAt, now);
      const long = 2 ** (-dt / c.half_life_long_days);
      const short = 2 ** (-dt / c.half_life_short_days);
      const long90 = odds(row.f90 * long, row.s90 * long);
      x.set("momentum", odds(row.f14 * short, row.s14 * short) - long90);
      x.set("beta", long90 - this.g);
      x.set("evidence", Math.log(1 + (row.s90 + row.f90) * long));
      if (row.failedAt > 0) {
        x.set("recent_failure", Math.exp(-days(row.failedAt, now) / c.recent_tau_days));
      }
      x.set("age", Math.log(1 + days(row.firstAt, now)));
      proven = row.proven * 2 ** (-dt / c.half_life_stakes_days);
      x.set("latest_failures", row.streak.latest);
      x.set("broken_record", row.streak.broken);
      const praise = row.streak.praise * long;
      x.set("praise_strength", praise / (1 + praise));
    }
    x.set("stakes_novelty", Math.max(0, Math.log((1 + stakes) / (1 + proven))));
    const reach = Math.max(c.stakes_free!, c.stakes_reach! * proven);
    if (stakes > proven && stakes > reach) x.set("stakes_untested", Math.max(0, -mean));
    const view = viewer === null ? undefined : this.agents.get(viewer);
    if (view !== undefined && view.subjectAt > 0) {
      const dt = days(view.subjectAt, now);
      const { m } = ou(view.mA, view.vA, c.subject_variance, c.subject_tau_days, dt);
      x.set("viewer_record", m);
    }
    if (view !== undefined && view.reporterAt > 0) {
      x.set("viewer_latest", view.streak.reportedLatest);
      const keep = 2 ** (-days(view.reporterAt, now) / c.half_life_short_days);
      x.set("viewer_short", odds(view.rf14 * keep, view.rs14 * keep) - this.g);
    }
    if (view !== undefined && this.agents.has(subject)) {
      // What the subject, as a reporter, has said about the viewer.
      const echo = (y: number) => {
        const pair = this.masses.pairs.get(`${viewer}\n${subject}\n${y}`);
        if (pair === undefined) return 0;
        const dt = Math.max(0, Math.floor(now / 1000) - pair.at) / 86_400;
        return Math.min(1, pair.mass * 2 ** (-dt / c.half_life_long_days));
      };
      x.set("reciprocal_failure", echo(1));
      x.set("reciprocal_success", echo(0));
    }
    return x;
  }

  #leg(
    eta: number,
    sd: number,
    model: ScoringModel,
    row: Agent | undefined,
    features: Map<string, number>,
    now: number,
    { subjectVariance, viewerPart }: { subjectVariance: number; viewerPart: number | undefined },
  ): Omit<ReferenceLeg, "mean" | "subjectVariance" | "viewerMean" | "features"> {
    const c = this.config;
    const isFew = (row?.outcomes ?? 0) < (c.thin_outcomes ?? 5);
    const isThin = isFew || 1 - subjectVariance / c.subject_variance < (c.thin_below ?? 0.15);
    const pessimistic = sig(eta + c.caution * sd);
    const partOf = (names: string[]) =>
      names
        .map((name) => (model.weights[name] ?? 0) * (features.get(name) ?? 0))
        .reduce((sum, x) => sum + x, 0);
    const added = partOf(["stakes_novelty", "stakes_untested"]);
    const told = ["reciprocal_failure", "reciprocal_success"];
    const looks =
      viewerPart === undefined
        ? 0
        : viewerPart + partOf(["viewer_short", "viewer_latest", "viewer_record", ...told]);
    const own = eta - added - looks;
    const optimistic = sig(eta - added - c.refuse_caution * sd);
    const effective = clip(c.score_offset - c.score_factor * (eta + c.caution * sd), 300, 850);
    const border = Math.max(c.deny_floor ?? 2 / 3, model.deny_at ?? Infinity);
    const weighed = (name: string) => (model.weights[name] ?? 0) * (features.get(name) ?? 0);
    // Texts ask for a second look; they never deny.
    const denied = eta - added - weighed("hallucination") - weighed("unverified");
    const keep = row ? 2 ** (-days(row.subjectAt, now) / c.half_life_long_days) : 0;
    const evidence = row ? (row.s90 + row.f90) * keep : 0;
    const isJudged = !isThin && evidence >= 0.25;
    const isRefused = isJudged && sig(denied - c.refuse_caution * sd) >= border;
    const steps = [c.tier_a, c.tier_b, c.tier_c];
    const graded = steps.findIndex((from) => c.score_offset - c.score_factor * own >= from);
    let regime = -1;
    if (row !== undefined) {
      regime = Math.abs(features.get("momentum") ?? 0) < c.regime_momentum ? 0 : 1;
      if (row.shockAt > 0 && days(row.shockAt, now) < c.shock_days) regime = 2;
    }
    return {
      eta,
      sd,
      probability: sig(eta),
      optimistic,
      pessimistic,
      internal: clip(c.score_offset - c.score_factor * eta, 300, 850),
      effective,
      tier: isThin ? 4 : graded === -1 ? 3 : graded,
      regime,
      isRefused,
      isDenied: isJudged && sig(denied) >= border,
      isThin,
      isJudged,
      stakesRisk: sig(eta + (c.stakes_caution ?? 0.5) * sd),
      evidence,
      failures: row?.f90 ?? 0,
    };
  }
}

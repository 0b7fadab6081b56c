// The `levels` of a verify answer: what the same question gets at every tool level, and between which
// stakes that stays so, so that one paid read serves an agent's tools of all levels. Only for
// requests that ask for it. The stakes named are those between which the same ruling comes about by
// the same numbers; outside them the service has to be asked.
import type { LevelPolicy } from "../../contract/policy.ts";
import type { VerifyRequest, VerifyResponse } from "../../contract/schemas/scores.ts";
import { TOOL_LEVELS, VERDICTS } from "../../contract/vocabulary.ts";
import type { ToolLevel } from "../../contract/vocabulary.ts";
import type { AgentScore } from "../../engine/reading.ts";
import {
  isReviewRequired,
  selectMinimumScore,
  type Ruling,
  STAKES_NEED_VERIFICATION,
  THIN_FLAGGED,
  THIN_TOLERATED,
} from "../../policy/rules.ts";
import { applyReviewToRuling } from "./reviewed.ts";
import { findVouching } from "../../policy/vouching.ts";
import type { CallContext } from "../bureau.ts";
import type { BureauServices } from "../services.ts";
import { encodeStakesBound } from "./leg.ts";
import {
  selectFailureCode,
  isDecidedByStakes,
  isAuditSampleCandidate,
  buildAuditSampleKey,
  selectVerdictReasonCodes,
  decideLevelRuling,
  computeStakesBound,
} from "./level-ruling.ts";
import type { ProvenanceFinding } from "./provenance.ts";

type LevelVerdicts = NonNullable<VerifyResponse["levels"]>;

const QUARANTINE = VERDICTS.indexOf("QUARANTINE");
/** Closed forms and decisions are computed differently: this far apart they agree. */
const BOUND_TOLERANCE = 1e-9;
const STAKES_STEPS_PER_UNIT = 10_000;

/**
 * Every level's verdict. `asked` is the ruling on the request itself, `scoreReported` the internal
 * score that it shows. A level is left out where its answer must be on record: flagged for review,
 * quarantined or blocked, waiting for a person or decided by one; or where an audit's lot may let it
 * through. Such a decision is one that the service makes and logs itself.
 */
export function buildLevelVerdicts(
  services: BureauServices,
  request: VerifyRequest,
  call: CallContext,
  reading: AgentScore,
  finding: ProvenanceFinding,
  asked: Ruling,
  scoreReported: number,
): LevelVerdicts {
  const active = services.policies.findActivePolicy(call.principal.tenant);
  const { agent_id: agentId, stakes = 0 } = request;
  const { isShadow, minimumScores } = call.principal;
  const levels: LevelVerdicts = {};
  const mayDraw = services.auditedToday.wouldBeFirst(
    buildAuditSampleKey(call, agentId),
    services.nowMs,
  );
  const inLot = (name: ToolLevel, ruling: Ruling) =>
    mayDraw &&
    isAuditSampleCandidate(active, call.principal, name, reading, finding, ruling, stakes);
  for (const name of TOOL_LEVELS) {
    const level = active.policy.levels[name];
    const vouching = findVouching(active.vouched, reading, agentId, name, services.nowMs);
    const ruling =
      name === request.tool_level
        ? asked
        : selectUnloggedRuling(
            services,
            agentId,
            level,
            reading,
            decideLevelRuling(active, call.principal, name, reading, finding, vouching, stakes),
          );
    if (ruling === undefined) continue;
    if (name !== request.tool_level && inLot(name, ruling)) continue;
    // A person has decided on it, which may change any moment.
    if (applyReviewToRuling(services, request, call, name, reading, finding, ruling) !== ruling)
      continue;
    const bound = computeStakesBound(level, reading, ruling, vouching);
    const [from, to] = computeConstantStakesRange(level, reading, ruling, finding, bound, stakes);
    levels[name] = {
      verdict: VERDICTS[ruling.verdictIndex]!,
      log_reason: ruling.logReason,
      threshold_met: scoreReported >= selectMinimumScore(level, minimumScores[name]),
      reason_codes: selectVerdictReasonCodes(reading, ruling, finding),
      max_stakes: encodeStakesBound(bound),
      enforced: !isShadow && !level.shadow,
      // Rounded inwards, but never past the stakes that were asked about.
      holds_from: Math.min(Math.ceil(from * STAKES_STEPS_PER_UNIT) / STAKES_STEPS_PER_UNIT, stakes),
      holds_to: to === Number.POSITIVE_INFINITY ? null : Math.max(encodeStakesBound(to)!, stakes),
    };
  }
  return levels;
}

/** The ruling of a level that was not asked about; undefined where it must be on record. */
function selectUnloggedRuling(
  services: BureauServices,
  agentId: string,
  level: LevelPolicy,
  reading: AgentScore,
  ruling: Ruling,
): Ruling | undefined {
  if (ruling === THIN_FLAGGED) {
    const isFirst = services.flaggedToday.wouldBeFirst(agentId, services.nowMs);
    return isFirst ? undefined : THIN_TOLERATED;
  }
  if (ruling.isFlagged || ruling.verdictIndex >= QUARANTINE) return undefined;
  return isReviewRequired(ruling, level, reading) ? undefined : ruling;
}

/** Stakes, lowest and highest, between which a level rules the same by the same numbers. */
function computeConstantStakesRange(
  level: LevelPolicy,
  reading: AgentScore,
  ruling: Ruling,
  finding: ProvenanceFinding,
  bound: number,
  stakes: number,
): readonly [number, number] {
  const { stakesFrom: from, stakesTo: to } = reading;
  if (!level.enforce || !level.counts_stakes) return [from, to];
  if (isDecidedByStakes(ruling)) {
    const isOpen = ruling.logReason === STAKES_NEED_VERIFICATION;
    return [stakes, isOpen ? computeUpperStakes(reading.stakesMax, to, stakes) : to];
  }
  if (ruling.verdictIndex === 0) return [from, computeUpperStakes(bound, to, stakes)];
  // Rules that come after the stakes name a challenge only where the stakes have not drawn one.
  const isOfRecord =
    selectFailureCode(finding) === "" && ruling.logReason !== SOURCES_REQUIRED_LABEL;
  if (isOfRecord || ruling.verdictIndex >= QUARANTINE) return [from, to];
  return [from, computeUpperStakes(reading.stakesClear, to, stakes)];
}

const SOURCES_REQUIRED_LABEL = "VERIFIED_SOURCES_REQUIRED";

/** The smaller of both; a computed bound a little lower than it is, and not below what was asked. */
function computeUpperStakes(bound: number, to: number, stakes: number): number {
  return bound >= to ? to : Math.max(bound * (1 - BOUND_TOLERANCE), stakes);
}

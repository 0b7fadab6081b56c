// Vouched namespaces of a policy: agents with a thin record that the operator vouches for, until when and
// up to which tool level. Kept in a form that a verdict reads without parsing or allocating; a policy
// without vouchings costs one comparison.
import { isAgentId } from "../contract/identifiers.ts";
import type { Policy, Vouching } from "../contract/policy.ts";
import { REASON_CODES, RISK_LEVELS, TOOL_LEVELS } from "../contract/vocabulary.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";
import type { ActivePolicy } from "./active-policy.ts";
import { computeRiskIndex } from "./rules.ts";
import type { PolicyRisk } from "./rule-inputs.ts";
import { selectStakesCap } from "./stakes-decision.ts";

/** One entry of a policy, ready for the hot path. */
export interface VouchedNamespace {
  readonly vouching: Vouching;
  /** Ends with a slash: a namespace never covers one that only begins like it. */
  readonly prefix: string;
  /** Epoch ms, exclusive. */
  readonly untilMs: number;
  /** Index into TOOL_LEVELS. */
  readonly levelIndex: number;
  readonly stakesMax: number;
}

/** The part of a score that decides whether a vouching may replace the record. */
export interface VouchableRecord extends Pick<PolicyRisk, "isThin" | "failureProbability"> {
  /** Indexes into REASON_CODES, of which the first `reasonCount` count. */
  readonly reasonIndexes: ArrayLike<number>;
  readonly reasonCount: number;
}

const NO_NAMESPACES: readonly VouchedNamespace[] = Object.freeze([]);
const HIGH = RISK_LEVELS.indexOf("HIGH");
const FAILURE_HISTORY = REASON_CODES.indexOf("FAILURE_HISTORY");

/** The namespaces that a policy vouches for; the same empty list for all that have none. */
export function buildVouchedNamespaces({ vouched }: Policy): readonly VouchedNamespace[] {
  if (vouched === undefined) return NO_NAMESPACES;
  return vouched.map((vouching) => ({
    vouching,
    prefix: vouching.namespace.slice(0, -1),
    untilMs: Date.parse(vouching.until),
    levelIndex: TOOL_LEVELS.indexOf(vouching.up_to),
    stakesMax: vouching.max_stakes,
  }));
}

/** An agent's record, the namespaces that its tenant vouches for, and the time. */
export interface VouchingQuery {
  readonly active: Pick<ActivePolicy, "vouched" | "terms">;
  readonly reading: VouchableRecord;
  readonly agentId: string;
  /** Epoch ms. */
  readonly nowMs: number;
}

/**
 * The entry that vouches for the agent at a level, the one with the largest stakes; undefined where no
 * namespace covers the agent, the entry has expired, the record is not thin, or it is adverse.
 */
export function findVouching(
  { active, reading, agentId, nowMs }: VouchingQuery,
  level: ToolLevel,
): VouchedNamespace | undefined {
  const { vouched, terms } = active;
  if (vouched.length === 0 || !reading.isThin || hasAdverseRecord(reading)) return undefined;
  const levelIndex = TOOL_LEVELS.indexOf(level);
  let found: VouchedNamespace | undefined;
  let largest = -1;
  for (const each of vouched) {
    if (each.levelIndex < levelIndex || each.untilMs <= nowMs) continue;
    if (!agentId.startsWith(each.prefix)) continue;
    const stakesMax = selectStakesCap(terms[level], each.stakesMax);
    if (stakesMax <= largest) continue;
    found = each;
    largest = stakesMax;
  }
  return found !== undefined && isAgentId(agentId) ? found : undefined;
}

/**
 * A vouching replaces a missing record, not a bad one: it covers no CRITICAL risk, and no HIGH risk with
 * recorded failures. A failure at MEDIUM risk is tolerated: otherwise one report of an unvouched key,
 * which moves a first-seen agent's risk by a point or two, would cancel the operator's vouching.
 */
function hasAdverseRecord({
  failureProbability,
  reasonIndexes,
  reasonCount,
}: VouchableRecord): boolean {
  const risk = computeRiskIndex(failureProbability);
  if (risk !== HIGH) return risk > HIGH;
  for (let index = 0; index < reasonCount; index += 1) {
    if (reasonIndexes[index] === FAILURE_HISTORY) return true;
  }
  return false;
}

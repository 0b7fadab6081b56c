// The operator's word for agents whose record is thin: which namespaces a policy vouches for, until
// when and up to which tool level. Put into a form that a verdict can go through without parsing or
// allocating; policies that vouch for nobody pay one comparison.
import { isAgentId } from "../contract/identifiers.ts";
import type { Policy, Vouching } from "../contract/policy.ts";
import { REASON_CODES, RISK_LEVELS, TOOL_LEVELS } from "../contract/vocabulary.ts";
import type { ToolLevel } from "../contract/vocabulary.ts";
import { computeRiskIndex } from "./rules.ts";
import type { PolicyRisk } from "./rules.ts";

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

/** What a reading says of the record that the word may stand in for. */
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

/**
 * The entry that vouches at a level for an agent of this record at `nowMs` (epoch ms), the one with the
 * largest stakes; undefined where none does: no namespace covers the agent, the word has expired, the
 * record is not thin, or it speaks against the agent.
 */
export function findVouching(
  vouched: readonly VouchedNamespace[],
  record: VouchableRecord,
  agentId: string,
  level: ToolLevel,
  nowMs: number,
): VouchedNamespace | undefined {
  if (vouched.length === 0 || !record.isThin || hasAdverseRecord(record)) return undefined;
  const levelIndex = TOOL_LEVELS.indexOf(level);
  let found: VouchedNamespace | undefined;
  for (const each of vouched) {
    if (each.levelIndex < levelIndex || each.untilMs <= nowMs) continue;
    if (!agentId.startsWith(each.prefix)) continue;
    if (found === undefined || each.stakesMax > found.stakesMax) found = each;
  }
  return found !== undefined && isAgentId(agentId) ? found : undefined;
}

/** Whether the word counts at these stakes, beyond what `check` says of them. */
export function areStakesVouched(found: VouchedNamespace | undefined, stakes: number): boolean {
  return found !== undefined && stakes <= found.stakesMax;
}

/**
 * The word stands in for a record, not against one: it covers no risk that is CRITICAL, and none that
 * is HIGH for failures on file. At MEDIUM a failure is borne: else one word of a stranger's key, which
 * moves a newcomer's risk by a point or two, would undo the operator's.
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

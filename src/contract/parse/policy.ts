// Parsers of a policy document and of a request for a back-test. What a document leaves out is filled in
// from the shipped policy; then no level may be looser than a less sensitive one, because that is nearly
// always a slip.
import { formatCanonicalJson } from "../canonical-json.ts";
import { type FieldError, invalidRequest } from "../faults.ts";
import { fillPolicyDefaults } from "../complete-policy.ts";
import { isBrokenEvidenceWithheld, THIN_RULES, type LevelPolicy, type Policy } from "../policy.ts";
import { listStakesFaults } from "../stakes-policy.ts";
import { PolicyRequest } from "../schemas/policy.ts";
import { TOOL_LEVELS, type ToolLevel } from "../vocabulary.ts";
import { type Parser, createParser } from "./parser.ts";
import { BacktestRequest } from "../schemas/backtest.ts";
import { PolicyDiffRequest } from "../schemas/policy-diff.ts";

/** Outcomes settled from `fromMs` on and before `toMs`, epoch ms; open where left out. */
interface BacktestWindow {
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

interface BacktestParameters extends BacktestWindow {
  /** Left out: the live policy alone. */
  readonly given?: Policy;
  readonly includesUnvouched: boolean;
  readonly waits: boolean;
}

const parseBacktestRequest = createParser(BacktestRequest);

/**
 * @throws ServiceFault `invalid_request` with a pointer to every member that is wrong or unknown;
 *   those of the policy begin with `/policy`.
 */
export function parseBacktest(value: unknown): BacktestParameters {
  const { policy, from, to, include_unvouched, wait } = parseBacktestRequest(value);
  if (from !== undefined && to !== undefined && to <= from) {
    const detail = "must be after `from`";
    throw invalidRequest([{ pointer: "/to", code: "range", detail }]);
  }
  return {
    fromMs: from,
    toMs: to,
    ...(policy === undefined ? {} : { given: buildPolicy(policy, "/policy") }),
    includesUnvouched: include_unvouched,
    waits: wait,
  };
}

const parsePolicyDiffRequest = createParser(PolicyDiffRequest);

/**
 * A draft and how many logged verdicts to judge by it.
 * @throws ServiceFault as `parsePolicy`; pointers of the policy begin with `/policy`.
 */
export const parsePolicyDiff: Parser<{ readonly policy: Policy; readonly last: number }> = (
  value,
) => {
  const { policy, last } = parsePolicyDiffRequest(value);
  return { policy: buildPolicy(policy, "/policy"), last };
};

const parsePolicyRequest = createParser(PolicyRequest);

/**
 * The whole policy that a document asks for.
 * @throws ServiceFault `invalid_request` with a pointer to every member that is wrong, unknown or,
 *   without `allow_inverted`, looser than at a less sensitive level; and to a namespace that is
 *   vouched for twice.
 */
export const parsePolicy: Parser<Policy> = (value) => buildPolicy(parsePolicyRequest(value));

/**
 * The whole policy of a request that stands at `pointer`.
 * @throws ServiceFault as `parsePolicy`.
 */
export function buildPolicy(request: PolicyRequest, pointer = ""): Policy {
  const { policy: whole, ...rest } = request;
  if (whole !== undefined) {
    const twice = RULE_MEMBERS.filter((name) => name in rest);
    if (twice.length > 0)
      throw invalidRequest(twice.map((name) => createDoubledError(`${pointer}/${name}`)));
  }
  const policy = fillPolicyDefaults(whole ?? rest);
  const within = whole === undefined ? pointer : `${pointer}/policy`;
  const faults = [
    ...listRepeatedNamespaces(policy, within),
    ...listRepeatedActions(policy, within),
  ];
  if (policy.stakes !== undefined) {
    faults.push(...listStakesFaults(policy.stakes, `${within}/stakes`));
  }
  if (!policy.allow_inverted) faults.push(...listInvertedBounds(policy, within));
  if (faults.length > 0) throw invalidRequest(faults);
  return policy;
}

function createDoubledError(pointer: string): FieldError {
  return { pointer, code: "doubled", detail: "stands beside `policy`, which has it too" };
}

const RULE_MEMBERS = [
  "levels",
  "allow_inverted",
  "vouched",
  "stakes",
  "actions",
  "unsettled_stakes",
] as const;

/** Two entries of one namespace would leave it to their order which expiry is meant. */
function listRepeatedNamespaces({ vouched = [] }: Policy, within: string): FieldError[] {
  const seen = new Set<string>();
  return vouched.flatMap(({ namespace }, index) => {
    if (!seen.has(namespace)) {
      seen.add(namespace);
      return [];
    }
    const detail = "is vouched for twice";
    return [{ pointer: `${within}/vouched/${index}/namespace`, code: "duplicate", detail }];
  });
}

/** The second of two entries that match the same requests would never decide. */
function listRepeatedActions({ actions = [] }: Policy, within: string): FieldError[] {
  const seen = new Set<string>();
  return actions.flatMap(({ match, resource, when }, index) => {
    const matched = formatCanonicalJson({ match, resource: resource ?? null, when: when ?? null });
    if (!seen.has(matched)) {
      seen.add(matched);
      return [];
    }
    const detail = "matches what an earlier entry matches";
    return [{ pointer: `${within}/actions/${index}`, code: "duplicate", detail }];
  });
}

/**
 * How strict a rule is, as a number that must not fall from a level to a more sensitive one; NaN
 * where two settings cannot be compared.
 */
const STRICTNESS_BY_MEMBER: Readonly<
  Partial<Record<keyof LevelPolicy, (level: LevelPolicy, name: ToolLevel) => number>>
> = {
  allow_up_to: (level) => -level.allow_up_to,
  allow_handshake_up_to: (level) => -level.allow_handshake_up_to,
  thin: (level) => THIN_RULES.indexOf(level.thin),
  enforce: (level) => Number(level.enforce),
  deny_from: computeDenialStrictness,
  minimum_score: (level) => level.minimum_score ?? 0,
  counts_stakes: (level) => Number(level.counts_stakes),
  require_verified_sources: (level) => Number(level.require_verified_sources),
  broken_evidence: (level, name) => Number(isBrokenEvidenceWithheld(name, level)),
};

/** `fitted` depends on the config: it is stricter than `never`, and neither beside a number. */
function computeDenialStrictness({ deny_from: border }: LevelPolicy): number {
  if (border === "never") return Number.NEGATIVE_INFINITY;
  return border === "fitted" ? Number.NaN : -border;
}

/** Whether the rule of level `name` is looser than that of the less sensitive level `before`. */
function isLooser(
  member: keyof LevelPolicy,
  levels: Policy["levels"],
  name: ToolLevel,
  before: ToolLevel,
): boolean {
  if (member === "deny_from" && levels[before].deny_from === "fitted")
    return levels[name].deny_from === "never";
  const strictness = STRICTNESS_BY_MEMBER[member]!;
  return strictness(levels[name], name) < strictness(levels[before], before);
}

function listInvertedBounds({ levels }: Policy, pointer: string): FieldError[] {
  const members = Object.keys(STRICTNESS_BY_MEMBER) as (keyof LevelPolicy)[];
  return TOOL_LEVELS.flatMap((name, index) =>
    members.flatMap((member) => {
      const looser = (before: ToolLevel) => isLooser(member, levels, name, before);
      const before = TOOL_LEVELS.slice(0, index).find(looser);
      return before === undefined ? [] : [createInversionError(pointer, name, member, before)];
    }),
  );
}

function createInversionError(
  pointer: string,
  level: ToolLevel,
  member: string,
  before: ToolLevel,
): FieldError {
  const detail = `is looser than at ${before}, which is less sensitive; \`allow_inverted\` permits it`;
  return { pointer: `${pointer}/levels/${level}/${member}`, code: "inverted", detail };
}

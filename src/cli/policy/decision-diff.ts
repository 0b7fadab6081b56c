// `trustrank policy test --diff`: the verdicts of logged decisions that a candidate policy would change, by level
// and reason, and the agents most affected.
import { judgeLoggedVerify } from "../../bureau/decisions/policy-verdict.ts";
import type { LoggedVerdict } from "../../bureau/decisions/policy-verdict.ts";
import type { ReplayServices } from "../../bureau/decisions/replay.ts";
import { ServiceFault } from "../../contract/faults.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { print, printNote, printTable } from "../output.ts";

const AGENTS_SHOWN = 20;

/** One kind of change, `LEVEL VERDICT REASON` before and after. */
interface VerdictChange {
  readonly before: string;
  readonly after: string;
  /** Logged decisions, and all that they stand for. */
  entries: number;
  decisions: number;
}

interface AffectedAgent {
  readonly agent: string;
  changed: number;
  /** ALLOW before and not after, and the other way round. */
  newly_withheld: number;
  newly_allowed: number;
}

export interface DecisionDiff {
  readonly candidate_version: string;
  judged: number;
  /** Whose policy or config is not held, or that are no verify of a real agent. */
  skipped: number;
  changed: number;
  readonly changes: VerdictChange[];
  readonly agents: AffectedAgent[];
}

/** Judges each verify by its own policy and by the candidate, with the record of its moment. */
export function compareLoggedVerdicts(
  services: ReplayServices,
  legs: readonly ReplayableLeg[],
  candidate: ActivePolicy,
): DecisionDiff {
  const changes = new Map<string, VerdictChange>();
  const agents = new Map<string, AffectedAgent>();
  const counts = { judged: 0, skipped: 0, changed: 0 };
  for (const leg of legs) {
    const judged = judgeTwice(services, leg, candidate);
    if (judged === undefined) {
      counts.skipped += 1;
      continue;
    }
    counts.judged += 1;
    const [before, after] = judged;
    if (before.verdict === after.verdict) continue;
    counts.changed += 1;
    countChange(changes, leg, formatVerdict(before), formatVerdict(after));
    countAgent(agents, leg.subject, before.verdict === "ALLOW", after.verdict === "ALLOW");
  }
  return {
    candidate_version: candidate.version,
    ...counts,
    changes: [...changes.values()].toSorted((a, b) => b.entries - a.entries),
    agents: [...agents.values()]
      .toSorted((a, b) => b.changed - a.changed || (a.agent < b.agent ? -1 : 1))
      .slice(0, AGENTS_SHOWN),
  };
}

function judgeTwice(
  services: ReplayServices,
  leg: ReplayableLeg,
  candidate: ActivePolicy,
): [LoggedVerdict, LoggedVerdict] | undefined {
  if (leg.kind !== "verify" || leg.is_test) return undefined;
  try {
    const before = judgeLoggedVerify(services, leg, undefined);
    return [before, judgeLoggedVerify(services, leg, candidate)];
  } catch (error) {
    if (error instanceof ServiceFault && error.code === "not_found") return undefined;
    throw error;
  }
}

function formatVerdict({ toolLevel, verdict, logReason }: LoggedVerdict): string {
  return `${toolLevel} ${verdict} ${logReason}`;
}

function countChange(
  changes: Map<string, VerdictChange>,
  leg: ReplayableLeg,
  before: string,
  after: string,
): void {
  const key = `${before} ${after}`;
  const change = changes.get(key) ?? { before, after, entries: 0, decisions: 0 };
  change.entries += 1;
  change.decisions += leg.weight ?? leg.stands_for;
  changes.set(key, change);
}

function countAgent(
  agents: Map<string, AffectedAgent>,
  agent: string,
  wasAllowed: boolean,
  isAllowed: boolean,
): void {
  const affected = agents.get(agent) ?? { agent, changed: 0, newly_withheld: 0, newly_allowed: 0 };
  affected.changed += 1;
  if (wasAllowed && !isAllowed) affected.newly_withheld += 1;
  if (!wasAllowed && isAllowed) affected.newly_allowed += 1;
  agents.set(agent, affected);
}

export function printDecisionDiff(diff: DecisionDiff): void {
  const { candidate_version: version, judged, skipped, changed, changes, agents } = diff;
  print(`${changed} of ${judged} logged verdicts would change under ${version}`);
  if (skipped > 0) {
    printNote(`${skipped} entries skipped: checks, handshakes, test agents, policies not held`);
  }
  if (changed === 0) return;
  printTable(
    ["before", "after", "entries", "decisions"],
    changes.map(({ before, after, entries, decisions }) => [before, after, entries, decisions]),
  );
  print("");
  printTable(
    ["agent", "changed", "newly withheld", "newly allowed"],
    agents.map((each) => [each.agent, each.changed, each.newly_withheld, each.newly_allowed]),
  );
}

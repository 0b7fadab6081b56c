// Logged verdicts compared with those of a candidate policy: counts by level and reason, and the agents most affected.
import { ServiceFault } from "../../contract/faults.ts";
import type { ReplayableLeg } from "../../contract/schemas/decisions.ts";
import type { PolicyDiff } from "../../contract/schemas/policy-diff.ts";
import type { ActivePolicy } from "../../policy/active-policy.ts";
import { judgeLoggedVerify, type LoggedVerdict } from "./policy-verdict.ts";
import type { ReplayServices } from "./replay.ts";

const AGENTS_SHOWN = 20;

type VerdictChange = PolicyDiff["changes"][number];
type AffectedAgent = PolicyDiff["agents"][number];

/** Takes logged legs in any number of parts. */
export class VerdictComparison {
  readonly #services: ReplayServices;
  readonly #candidate: ActivePolicy;
  readonly #changes = new Map<string, VerdictChange>();
  readonly #agents = new Map<string, AffectedAgent>();
  #judged = 0;
  #skipped = 0;
  #changed = 0;

  constructor(services: ReplayServices, candidate: ActivePolicy) {
    this.#services = services;
    this.#candidate = candidate;
  }

  /** Judges each verify by its own policy and by the candidate, with the record of its moment. */
  add(legs: readonly ReplayableLeg[]): void {
    for (const leg of legs) {
      const judged = this.#judgeTwice(leg);
      if (judged === undefined) {
        this.#skipped += 1;
        continue;
      }
      this.#judged += 1;
      const [before, after] = judged;
      if (before.verdict === after.verdict) continue;
      this.#changed += 1;
      this.#countChange(leg, formatVerdict(before), formatVerdict(after));
      this.#countAgent(leg.subject, before.verdict === "ALLOW", after.verdict === "ALLOW");
    }
  }

  finish(): PolicyDiff {
    return {
      candidate_version: this.#candidate.version,
      judged: this.#judged,
      skipped: this.#skipped,
      changed: this.#changed,
      changes: [...this.#changes.values()].toSorted((a, b) => b.entries - a.entries),
      agents: [...this.#agents.values()]
        .toSorted((a, b) => b.changed - a.changed || (a.agent < b.agent ? -1 : 1))
        .slice(0, AGENTS_SHOWN),
    };
  }

  #judgeTwice(leg: ReplayableLeg): [LoggedVerdict, LoggedVerdict] | undefined {
    if (leg.kind !== "verify" || leg.is_test) return undefined;
    try {
      const before = judgeLoggedVerify(this.#services, leg, undefined);
      return [before, judgeLoggedVerify(this.#services, leg, this.#candidate)];
    } catch (error) {
      if (error instanceof ServiceFault && error.code === "not_found") return undefined;
      throw error;
    }
  }

  #countChange(leg: ReplayableLeg, before: string, after: string): void {
    const key = `${before} ${after}`;
    const change = this.#changes.get(key) ?? { before, after, entries: 0, decisions: 0 };
    change.entries += 1;
    change.decisions += leg.weight ?? leg.stands_for;
    this.#changes.set(key, change);
  }

  #countAgent(agent: string, wasAllowed: boolean, isAllowed: boolean): void {
    const affected = this.#agents.get(agent) ?? {
      agent,
      changed: 0,
      newly_withheld: 0,
      newly_allowed: 0,
    };
    affected.changed += 1;
    if (wasAllowed && !isAllowed) affected.newly_withheld += 1;
    if (!wasAllowed && isAllowed) affected.newly_allowed += 1;
    this.#agents.set(agent, affected);
  }
}

function formatVerdict({ toolLevel, verdict, logReason }: LoggedVerdict): string {
  return `${toolLevel} ${verdict} ${logReason}`;
}

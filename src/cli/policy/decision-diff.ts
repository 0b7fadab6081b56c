// Printed form of `trustrank policy test --diff`: the verdicts of logged decisions that a candidate policy would change,
// by level and reason, and the agents most affected.
import type { PolicyDiff } from "../../contract/schemas/policy-diff.ts";
import { print, printNote, printTable } from "../output.ts";

export function printDecisionDiff(diff: PolicyDiff): void {
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

// Messages of the comparison of a draft policy with logged verdicts.
import { POLICY_DIFF_ENTRIES_MAX } from "../limits.ts";
import { PolicyRequest } from "./policy.ts";
import * as t from "./schema.ts";

const ENTRIES = `must be a whole number from 1 to ${POLICY_DIFF_ENTRIES_MAX}`;
const entries = t.defineChecked<number>(
  { "~shown": { type: "integer", minimum: 1, maximum: POLICY_DIFF_ENTRIES_MAX } },
  (value) =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= POLICY_DIFF_ENTRIES_MAX,
  (value) => `${typeof value === "number" ? "range" : "type"} ${ENTRIES}`,
);

/** `POST /v1/policy/diff`. */
export const PolicyDiffRequest = t.defineStrictMessage("PolicyDiffRequest", {
  policy: PolicyRequest,
  last: t.withDefault(
    t.withDescription(entries, "Newest verifies of the decision log that are judged again."),
    POLICY_DIFF_ENTRIES_MAX,
  ),
});

/** One kind of change, `LEVEL VERDICT REASON` before and after. */
const verdictChange = t.defineObject({
  before: t.text,
  after: t.text,
  entries: t.integer,
  decisions: t.withDescription(t.number, "All decisions that the entries stand for."),
});

const affectedAgent = t.defineObject({
  agent: t.text,
  changed: t.integer,
  newly_withheld: t.withDescription(t.integer, "ALLOW before, and not after."),
  newly_allowed: t.integer,
});

/** Logged verdicts that a candidate policy would change. */
export const PolicyDiff = t.defineMessage("PolicyDiff", {
  candidate_version: t.text,
  judged: t.integer,
  skipped: t.withDescription(
    t.integer,
    "Entries whose policy or config is not held, or that are no verify of a real agent.",
  ),
  changed: t.integer,
  changes: t.withDescription(t.defineList(verdictChange), "The most frequent first."),
  agents: t.withDescription(t.defineList(affectedAgent), "Those most affected, at most 20."),
});
export type PolicyDiff = t.MessageOf<typeof PolicyDiff>;

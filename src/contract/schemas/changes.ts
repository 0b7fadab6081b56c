// Messages of the change feed: what makes verdicts outdated that a client has cached.
import * as t from "./schema.ts";

/** What changed. Append: clients drop everything they cached for a kind that they do not know. */
const CHANGE_KINDS = [
  "key",
  "namespace",
  "review",
  "policy",
  "config",
  "condition",
  "stop",
] as const;

export const Change = t.defineMessage("Change", {
  position: t.withDescription(t.text, "its place in the feed"),
  kind: t.withDescription(
    t.defineChoice(CHANGE_KINDS),
    "an agent's signing key, the owner of a namespace, a review decision, a tenant's policy, the scoring configuration, an operator's condition, a stop of all agents",
  ),
  tenant: t.withDescription(
    t.textOrNull,
    "the tenant whose verdicts it changes; null: all tenants",
  ),
  agent: t.withDescription(t.textOrNull, "the agent whose verdicts it changes"),
  namespace: t.withDescription(
    t.textOrNull,
    "verdicts of all agents below `agent://<namespace>/`; null in `agent` and here: of all agents",
  ),
  version: t.withDescription(t.textOrNull, "of the policy or the configuration"),
  at: t.time,
});
export type Change = t.MessageOf<typeof Change>;

/** `GET /v1/changes` by long poll. */
export const ChangeList = t.defineMessage("ChangeList", {
  position: t.withDescription(t.text, "send it as `since` in the next request"),
  changes: t.defineList(Change),
});

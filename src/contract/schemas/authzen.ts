// The AuthZEN messages, as far as this service reads and writes them. For documents alone: the
// standard leaves most members open, and the route reads what it finds.
import { BATCH_ITEMS_MAX } from "../limits.ts";
import * as t from "./schema.ts";

const properties = t.optional(t.anObject);
const context = t.optional(t.anObject);
const subject = t.object({ type: t.text, id: t.text, properties });
const action = t.object({ name: t.text, properties });
const resource = t.object({ type: t.text, id: t.text, properties });

export const AuthzenEvaluation = t.message("AuthzenEvaluation", {
  subject,
  action,
  resource,
  context,
});
export const AuthzenEvaluations = t.message("AuthzenEvaluations", {
  subject: t.optional(subject),
  action: t.optional(action),
  resource: t.optional(resource),
  context,
  evaluations: t.optional(t.list(t.anObject, { maxItems: BATCH_ITEMS_MAX })),
  options: t.optional(
    t.object({
      evaluations_semantic: t.optional(
        t.defineChoice(["execute_all", "deny_on_first_deny", "permit_on_first_permit"]),
      ),
    }),
  ),
});
export const AuthzenDecision = t.message("AuthzenDecision", { decision: t.flag, context });
export const AuthzenDecisions = t.message("AuthzenDecisions", {
  evaluations: t.list(AuthzenDecision),
});
export const AuthzenConfiguration = t.message("AuthzenConfiguration", {
  ...t.all(
    t.text,
    "policy_decision_point",
    "access_evaluation_endpoint",
    "access_evaluations_endpoint",
  ),
});

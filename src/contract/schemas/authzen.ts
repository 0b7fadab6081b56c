// The AuthZEN messages, as far as this service reads and writes them. For documents alone: the
// standard leaves most members open, and the route reads what it finds.
import { BATCH_ITEMS_MAX } from "../limits.ts";
import { anObject, flag, text } from "./kinds.ts";
import { list, message, object, oneOf, optional } from "./schema.ts";

const properties = optional(anObject);
const context = optional(anObject);
const subject = object({ type: text, id: text, properties });
const action = object({ name: text, properties });
const resource = object({ type: text, id: text, properties });

export const AuthzenEvaluation = message("AuthzenEvaluation", {
  subject,
  action,
  resource,
  context,
});
export const AuthzenEvaluations = message("AuthzenEvaluations", {
  subject: optional(subject),
  action: optional(action),
  resource: optional(resource),
  context,
  evaluations: optional(list(anObject, { maxItems: BATCH_ITEMS_MAX })),
  options: optional(
    object({
      evaluations_semantic: optional(
        oneOf(["execute_all", "deny_on_first_deny", "permit_on_first_permit"]),
      ),
    }),
  ),
});
export const AuthzenDecision = message("AuthzenDecision", { decision: flag, context });
export const AuthzenDecisions = message("AuthzenDecisions", { evaluations: list(AuthzenDecision) });
export const AuthzenConfiguration = message("AuthzenConfiguration", {
  policy_decision_point: text,
  access_evaluation_endpoint: text,
  access_evaluations_endpoint: text,
});

// The AuthZEN messages, as far as this service reads and writes them. For documents alone: the
// standard leaves most members open, and the route reads what it finds.
import { BATCH_ITEMS_MAX } from "../limits.ts";
import * as t from "./schema.ts";

const properties = t.makeOptional(t.anObject);
const context = t.makeOptional(t.anObject);
const subject = t.defineObject({ type: t.text, id: t.text, properties });
const action = t.defineObject({ name: t.text, properties });
const resource = t.defineObject({ type: t.text, id: t.text, properties });

export const AuthzenEvaluation = t.defineMessage("AuthzenEvaluation", {
  subject,
  action,
  resource,
  context,
});
export const AuthzenEvaluations = t.defineMessage("AuthzenEvaluations", {
  subject: t.makeOptional(subject),
  action: t.makeOptional(action),
  resource: t.makeOptional(resource),
  context,
  evaluations: t.makeOptional(t.defineList(t.anObject, { maxItems: BATCH_ITEMS_MAX })),
  options: t.makeOptional(
    t.defineObject({
      evaluations_semantic: t.makeOptional(
        t.defineChoice(["execute_all", "deny_on_first_deny", "permit_on_first_permit"]),
      ),
    }),
  ),
});
export const AuthzenDecision = t.defineMessage("AuthzenDecision", { decision: t.flag, context });
export const AuthzenDecisions = t.defineMessage("AuthzenDecisions", {
  evaluations: t.defineList(AuthzenDecision),
});
export const AuthzenConfiguration = t.defineMessage("AuthzenConfiguration", {
  ...t.repeatSchema(
    t.text,
    "policy_decision_point",
    "access_evaluation_endpoint",
    "access_evaluations_endpoint",
  ),
});

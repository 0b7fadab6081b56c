// JSON Schemas of the AuthZEN messages, as far as this service reads and writes them.
import { BATCH_ITEMS_MAX } from "../../contract/limits.ts";
import { flag, list, object, oneOf, ref, type Schema, text } from "./parts.ts";

const properties: Schema = { type: "object" };
const entities = {
  subject: object({ type: text, id: text }, { properties }),
  action: object({ name: text }, { properties }),
  resource: object({ type: text, id: text }, { properties }),
};
const context: Schema = { type: "object" };

export const AUTHZEN_SCHEMAS: Record<string, Schema> = {
  AuthzenEvaluation: object(entities, { context }),
  AuthzenEvaluations: object(
    {},
    {
      ...entities,
      context,
      evaluations: { type: "array", maxItems: BATCH_ITEMS_MAX, items: { type: "object" } },
      options: object(
        {},
        {
          evaluations_semantic: oneOf([
            "execute_all",
            "deny_on_first_deny",
            "permit_on_first_permit",
          ]),
        },
      ),
    },
  ),
  AuthzenDecision: object({ decision: flag }, { context }),
  AuthzenDecisions: object({ evaluations: list(ref("AuthzenDecision")) }),
  AuthzenConfiguration: object({
    policy_decision_point: text,
    access_evaluation_endpoint: text,
    access_evaluations_endpoint: text,
  }),
};

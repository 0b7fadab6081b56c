// Messages of conditions and stops: what an operator sets, and what stands.
import {
  CONDITION_BATCH_MAX,
  CONDITION_CASE_BYTES_MAX,
  CONDITION_CODE_LENGTH_MAX,
  CONDITION_SCOPES,
  CONDITION_STATES,
  CONDITION_TEXT_BYTES_MAX,
  isConditionSubject,
} from "../conditions/events.ts";
import { AGENT_ID_BYTES_MAX } from "../limits.ts";
import { TOOL_LEVELS } from "../vocabulary.ts";
import { Effective } from "./service.ts";
import * as t from "./schema.ts";

const CODE = /^[a-z0-9][a-z0-9_.-]*$/;

const reason = t.defineObject(
  {
    code: t.withDescription(
      t.defineChecked<string>(
        {
          "~shown": {
            type: "string",
            pattern: CODE.source,
            minLength: 1,
            maxLength: CONDITION_CODE_LENGTH_MAX,
          },
        },
        (value) =>
          typeof value === "string" &&
          value.length <= CONDITION_CODE_LENGTH_MAX &&
          CODE.test(value),
        () =>
          `format must be 1 to ${CONDITION_CODE_LENGTH_MAX} characters of \`a-z0-9_.-\`, the first a letter or digit`,
      ),
      "For programs. `fraud` in a suspension of the bureau is also the reason code `FRAUD_FLAG`.",
    ),
    text: t.makeOptional(
      t.withDescription(
        t.definePlainText(CONDITION_TEXT_BYTES_MAX),
        "For people. Other tenants never see it.",
      ),
    ),
  },
  t.STRICT,
);

const levels = t.defineChecked<(typeof TOOL_LEVELS)[number][]>(
  {
    "~shown": {
      type: "array",
      items: { type: "string", enum: [...TOOL_LEVELS] },
      minItems: 1,
      uniqueItems: true,
    },
  },
  (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((each) => (TOOL_LEVELS as readonly unknown[]).includes(each)),
  () => `enum must list some of ${TOOL_LEVELS.join(", ")}, each once`,
);

const shared = {
  until: t.makeOptional(
    t.withDescription(t.timeOrMs, "When it ends; left out: when it is lifted."),
  ),
  reason,
  case: t.makeOptional(
    t.withDescription(
      t.definePlainText(CONDITION_CASE_BYTES_MAX),
      "Number or address of the case that it belongs to.",
    ),
  ),
};

const scope = t.withDescription(
  t.withDefault(t.defineChoice(CONDITION_SCOPES), "tenant"),
  "`bureau`: for all tenants, which needs `admin`.",
);

const conditionMembers = {
  state: t.withDescription(
    t.defineChoice(CONDITION_STATES),
    "`suspended` blocks and refuses, `watch` marks every decision, `cleared` allows where the record denies.",
  ),
  scope,
  levels: t.makeOptional(
    t.withDescription(levels, "The tool levels that it is about; left out: all."),
  ),
  max_stakes: t.makeOptional(
    t.withDescription(
      t.stakes,
      "Only of `cleared`: up to these stakes. Left out: up to those that a request without stakes counts for.",
    ),
  ),
  ...shared,
  until: t.makeOptional(
    t.withDescription(
      t.timeOrMs,
      "When it ends; left out: when it is lifted. `cleared` needs it, at most 366 days away.",
    ),
  ),
};

/** `PUT /v1/agents/{id}/condition` and `PUT /v1/namespaces/{namespace}/condition`. */
export const ConditionRequest = t.defineStrictMessage("ConditionRequest", conditionMembers);
export type ConditionRequest = t.MessageOf<typeof ConditionRequest>;

const subject = t.defineChecked<string>(
  { type: "string", "~shown": { minLength: 1, maxLength: AGENT_ID_BYTES_MAX } },
  isConditionSubject,
  () => "format must be an agent, or a namespace such as `agent://acme/*`; no reserved test agent",
);

/** `POST /v1/conditions`. */
export const ConditionBatch = t.defineStrictMessage("ConditionBatch", {
  conditions: t.defineList(
    t.defineObject(
      {
        subject: t.withDescription(subject, "An agent, or a namespace: `agent://acme/*`."),
        ...conditionMembers,
      },
      t.STRICT,
    ),
    { minItems: 1, maxItems: CONDITION_BATCH_MAX, "~noun": "conditions" },
  ),
});
export type ConditionBatch = t.MessageOf<typeof ConditionBatch>;

/** `PUT /v1/stop`. */
export const StopRequest = t.defineStrictMessage("StopRequest", {
  scope,
  above: t.makeOptional(
    t.withDescription(
      t.defineChoice(TOOL_LEVELS),
      "The highest level that is not stopped; left out: all levels are.",
    ),
  ),
  ...shared,
});
export type StopRequest = t.MessageOf<typeof StopRequest>;

const shownReason = t.defineObject({
  code: t.text,
  text: t.withDescription(t.textOrNull, "Null also for other tenants than the one that set it."),
});

const standingMembers = {
  scope: t.defineChoice(CONDITION_SCOPES),
  tenant: t.withDescription(t.textOrNull, "Whose word it is; null: the bureau's."),
  until: t.timeOrNull,
  reason: shownReason,
  case: t.textOrNull,
  set_at: t.time,
  set_by: t.withDescription(t.textOrNull, "API key that set it; null for other tenants."),
};

const effective = t.makeOptional(
  t.withDescription(Effective, "Of a change: left out by a service that is alone."),
);

const statedMembers = {
  subject: t.withDescription(t.text, "An agent, or a namespace: `agent://acme/*`."),
  state: t.defineChoice(CONDITION_STATES),
  levels: t.withDescription(
    t.defineSchema<(typeof TOOL_LEVELS)[number][] | null>({
      type: ["array", "null"],
      items: { type: "string", enum: [...TOOL_LEVELS] },
    }),
    "Null: all.",
  ),
  max_stakes: t.withDescription(
    t.numberOrNull,
    "Of `cleared`, in the tenant's unit, of the bureau in the unit of account; null: what is assumed.",
  ),
  ...standingMembers,
};

export const AgentCondition = t.defineMessage("AgentCondition", { ...statedMembers, effective });
export type AgentCondition = t.MessageOf<typeof AgentCondition>;

/** A list with the `next` of the page after; null: there is none. */
export const ConditionList = t.defineMessage("ConditionList", {
  conditions: t.defineList(AgentCondition),
  next: t.withDescription(t.textOrNull, "`after` of the next page; null: this is the last."),
  total: t.integer,
});
export type ConditionList = t.MessageOf<typeof ConditionList>;

/** The answer of `POST /v1/conditions`. */
export const ConditionsSet = t.defineMessage("ConditionsSet", { set: t.integer, effective });

export const Stop = t.defineMessage("Stop", {
  above: t.withDescription(
    t.defineNullableAnswer(t.defineChoice(TOOL_LEVELS)),
    "The highest level that is not stopped; null: all are.",
  ),
  ...standingMembers,
  effective,
});
export type StopDescription = t.MessageOf<typeof Stop>;

/** `GET /v1/stop`. */
export const StopState = t.defineMessage("StopState", {
  stops: t.withDescription(
    t.defineList(Stop),
    "The bureau's, then the tenant's; empty: nothing is stopped.",
  ),
});

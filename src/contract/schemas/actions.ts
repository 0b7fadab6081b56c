// Schema of a policy's `actions`: entries that give actions a tool level of the tenant's own.
import { FACT_SECTIONS, isSegmentPattern, parseFactPointer } from "../actions.ts";
import type { ConditionValue } from "../actions.ts";
import { isAction, isPlainText } from "../identifiers.ts";
import {
  ACTION_CONDITIONS_MAX,
  ACTION_ENTRIES_MAX,
  ACTION_LENGTH_MAX,
  POINTER_LENGTH_MAX,
  RESOURCE_LENGTH_MAX,
} from "../limits.ts";
import { TOOL_LEVELS } from "../vocabulary.ts";
import * as t from "./schema.ts";

const ACTION_PATTERN = "must be an action, whole segments before `.*`, or `*`";
const actionPattern = t.defineChecked<string>(
  {
    type: "string",
    "~shown": {
      maxLength: ACTION_LENGTH_MAX,
      pattern: "^(\\*|[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*\\.([A-Za-z0-9_-]+|\\*))$",
    },
  },
  (value) => isActionPattern(value as string),
  () => `format ${ACTION_PATTERN}`,
);

/** With any operation in the place of the star, a pattern has the form of an action. */
function isActionPattern(value: string): boolean {
  if (value.length > ACTION_LENGTH_MAX) return false;
  return value === "*" || isAction(value.endsWith(".*") ? `${value.slice(0, -1)}x` : value);
}

const RESOURCE_PATTERN = `must be 1 to ${RESOURCE_LENGTH_MAX} bytes of text, with \`*\` only as its last whole segment, after \`.\`, \`/\` or \`:\``;
const resourcePattern = t.defineChecked<string>(
  { type: "string", "~shown": { minLength: 1, maxLength: RESOURCE_LENGTH_MAX } },
  (value) => isPlainText(value, RESOURCE_LENGTH_MAX) && isSegmentPattern(value),
  () => `format ${RESOURCE_PATTERN}`,
);

const FACT_POINTER = `must be a JSON pointer that begins with ${FACT_SECTIONS.map((each) => `\`${each}\``).join(", ")}`;
const factPointer = t.defineChecked<string>(
  { type: "string", "~shown": { maxLength: POINTER_LENGTH_MAX } },
  (value) => isFactPointer(value as string),
  () => `format ${FACT_POINTER}`,
);

function isFactPointer(value: string): boolean {
  return value.length <= POINTER_LENGTH_MAX && parseFactPointer(value) !== undefined;
}

/** The first thing that is wrong with the conditions, as code, place and sentence; empty where nothing is. */
function findConditionFault(value: unknown): string {
  const conditions = Object.entries(value as Record<string, unknown>);
  if (conditions.length === 0 || conditions.length > ACTION_CONDITIONS_MAX) {
    return `length must hold 1 to ${ACTION_CONDITIONS_MAX} conditions`;
  }
  for (const [pointer, expected] of conditions) {
    const at = quotePointer(pointer);
    if (!isFactPointer(pointer)) return `format${at} ${FACT_POINTER}`;
    const isValue = ["string", "number", "boolean"].includes(typeof expected);
    if (!isValue) return `type${at} must be a string, a number or a boolean`;
  }
  return "";
}

/** A member's name as one step of a JSON pointer, behind a space; empty where a fault cannot carry it. */
function quotePointer(name: string): string {
  if (name.length > POINTER_LENGTH_MAX || /\s/.test(name)) return "";
  return ` /${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

const actionConditions = t.defineChecked<Record<string, ConditionValue>>(
  { type: "object", "~shown": { minProperties: 1, maxProperties: ACTION_CONDITIONS_MAX } },
  (value) => findConditionFault(value) === "",
  findConditionFault,
);

const actionEntry = t.defineObject(
  {
    match: t.withDescription(actionPattern, "An action, `domain.*` for all below it, or `*`."),
    resource: t.makeOptional(
      t.withDescription(resourcePattern, "The same for `resource.id`; left out: any request."),
    ),
    when: t.makeOptional(
      t.withDescription(
        actionConditions,
        "Values by JSON pointer into the request; all must be equal.",
      ),
    ),
    level: t.defineChoice(TOOL_LEVELS),
    stakes: t.makeOptional(
      t.withDescription(factPointer, "JSON pointer to the number in the request at stake."),
    ),
  },
  { ...t.STRICT, "~unknown": "is not a member of an action" },
);

/** Left out for none. */
export const actionEntries = t.makeOptional(
  t.withDescription(
    t.defineList(actionEntry, { maxItems: ACTION_ENTRIES_MAX, "~noun": "actions" }),
    "The first entry that matches a request decides its tool level; a level named in the request can only raise it.",
  ),
);

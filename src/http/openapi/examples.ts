// Examples of messages, made from their schemas: a whole one where example-values.ts has it, else
// member by member, each by its name or, failing that, by the first value that its schema takes.
import { isObject } from "../../contract/parse/json-object.ts";
import { FAULTS, type FaultCode } from "../../contract/faults.ts";
import {
  EXAMPLES_BY_FORMAT,
  EXAMPLES_BY_MESSAGE,
  EXAMPLES_BY_MEMBER,
  REQUEST_ID_EXAMPLE,
} from "./example-values.ts";
import { SCHEMAS } from "./schemas.ts";

type Json = Record<string, unknown>;

const REFERENCE = "#/components/schemas/";

/** An example of the message `name`. */
export function buildMessageExample(name: string): unknown {
  return Object.hasOwn(EXAMPLES_BY_MESSAGE, name)
    ? EXAMPLES_BY_MESSAGE[name]
    : buildSchemaExample(SCHEMAS[name] as Json, "");
}

/** The problem that `code` makes. */
export function buildProblemExample(code: FaultCode): Json {
  const { status, title } = FAULTS[code];
  return {
    type: `urn:trustrank:problem:${code}`,
    title,
    status,
    detail: title,
    instance: EXAMPLES_BY_MEMBER["instance"],
    code,
    request_id: REQUEST_ID_EXAMPLE,
  };
}

function buildSchemaExample(schema: Json, name: string): unknown {
  const reference = schema["$ref"];
  if (typeof reference === "string") return buildMessageExample(reference.slice(REFERENCE.length));
  if ("const" in schema) return schema["const"];
  const known = EXAMPLES_BY_MEMBER[name];
  if (known !== undefined && isValidForSchema(schema, known)) return known;
  const values = schema["enum"];
  if (Array.isArray(values)) return values[0];
  const [first] = (schema["anyOf"] ?? []) as Json[];
  return first === undefined ? buildExampleByType(schema, name) : buildSchemaExample(first, name);
}

function buildExampleByType(schema: Json, name: string): unknown {
  switch (listSchemaTypes(schema)[0]) {
    case "object":
      return buildObjectExample(schema);
    case "array":
      return isObject(schema["items"])
        ? [buildSchemaExample(schema["items"], name.replace(/s$/, ""))]
        : [];
    case "string":
      return EXAMPLES_BY_FORMAT[String(schema["format"])] ?? "text";
    case "number":
    case "integer":
      return schema["minimum"] ?? 1;
    case "boolean":
      return false;
    default:
      return null;
  }
}

/** All members but `problem`, which stands in for a result that an item of a batch did not get. */
function buildObjectExample({ properties = {} }: Json): Json {
  const members = Object.entries(properties as Record<string, Json>);
  const kept = members.filter(([member]) => member !== "problem");
  return Object.fromEntries(
    kept.map(([member, each]) => [member, buildSchemaExample(each, member)]),
  );
}

/** Whether a value by name fits: the same name means a number here and a text there. */
function isValidForSchema(schema: Json, value: unknown): boolean {
  const values = schema["enum"];
  if (Array.isArray(values)) return values.includes(value);
  const types = listSchemaTypes(schema);
  if (Array.isArray(value)) return types.includes("array") && areItemsValid(schema, value);
  if (typeof value === "number") {
    const { minimum = value, maximum = value } = schema as { minimum?: number; maximum?: number };
    const isWhole = types.includes("integer") && Number.isInteger(value);
    return (isWhole || types.includes("number")) && value >= minimum && value <= maximum;
  }
  const { pattern, format } = schema as { pattern?: string; format?: string };
  if (typeof value === "string" && pattern !== undefined) return new RegExp(pattern).test(value);
  if (isObject(value) && !listRequired(schema).every((name) => name in value)) return false;
  if (format !== undefined && format !== "date-time") return false;
  if (format === "date-time" && Number.isNaN(Date.parse(String(value)))) return false;
  return types.includes(typeof value);
}

function areItemsValid(schema: Json, values: readonly unknown[]): boolean {
  const { items, minItems = 0 } = schema as { items?: Json; minItems?: number };
  if (values.length < minItems) return false;
  return items === undefined || values.every((each) => isValidForSchema(items, each));
}

function listRequired({ required = [] }: Json): readonly string[] {
  return required as string[];
}

function listSchemaTypes({ type = [] }: Json): string[] {
  return [type as string | string[]].flat();
}

// The faults of a value that a message's check has refused, as field errors: members in the order of
// the schema, one fault each, no more than a problem may list. Objects and lists are walked here,
// because a list that is too long must be reported as that, whatever its items are, and a body of
// nonsense must not cost more than the answer to it; each value in them is judged by typebox.
import type { FieldError, FieldErrorCode } from "../faults.ts";
import { FIELD_ERRORS_MAX } from "../limits.ts";
import { findFirstRefusal, type Schema, type TypedSchema } from "../schemas/schema.ts";
import { buildJsonPointer } from "./json-fault.ts";
import { isObject } from "./json-object.ts";

/** What is wrong with `value`, which stands at `pointer`; empty when nothing is. */
export function listFieldErrors(schema: TypedSchema, value: unknown, pointer = ""): FieldError[] {
  const found: FieldError[] = [];
  collectFieldErrors(found, schema, value, pointer);
  return found;
}

function collectFieldErrors(
  found: FieldError[],
  schema: Schema,
  value: unknown,
  pointer: string,
): void {
  if (found.length >= FIELD_ERRORS_MAX) return;
  if (schema.properties !== undefined && isObject(value)) {
    collectMemberErrors(found, schema, value, pointer);
  } else if (schema.items !== undefined && Array.isArray(value)) {
    collectItemErrors(found, schema, value, pointer);
  } else {
    const refusal = findFirstRefusal(schema, value);
    if (refusal !== undefined)
      addFieldError(found, pointer, describeKeywordError(refusal.keyword, refusal.params));
  }
}

function collectMemberErrors(
  found: FieldError[],
  schema: Schema,
  value: Record<string, unknown>,
  pointer: string,
): void {
  const properties = schema.properties ?? {};
  if (schema.additionalProperties === false) {
    const saying = `unknown ${schema["~unknown"] ?? "is not a member of this request"}`;
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(properties, name))
        addFieldError(found, pointer + buildJsonPointer([name]), saying);
    }
  }
  for (const [name, property] of Object.entries(properties)) {
    const member = value[name];
    if (member !== undefined) collectFieldErrors(found, property, member, `${pointer}/${name}`);
    else if (!property["~optional"])
      addFieldError(found, `${pointer}/${name}`, "required is required");
  }
  for (const { check, error } of schema["~refine"] ?? []) {
    if (!check(value)) addFieldError(found, pointer, error(value));
  }
}

function collectItemErrors(
  found: FieldError[],
  schema: Schema,
  values: readonly unknown[],
  pointer: string,
): void {
  const { items, minItems = 0, maxItems = Infinity, "~noun": noun = "items" } = schema;
  if (values.length < minItems || values.length > maxItems) {
    const bounds = minItems === 0 ? "at most" : `${minItems} to`;
    addFieldError(found, pointer, `length must hold ${bounds} ${maxItems} ${noun}`);
    return;
  }
  for (const [index, value] of values.entries()) {
    if (found.length >= FIELD_ERRORS_MAX) return;
    collectFieldErrors(found, items!, value, `${pointer}/${index}`);
  }
}

/** Code and sentence of what typebox refuses. */
function describeKeywordError(keyword: string, params: object): string {
  if ("message" in params) return String(params.message);
  if ("allowedValues" in params) {
    const values = params.allowedValues as readonly string[];
    return `enum must be one of ${values.map((value) => `\`${value}\``).join(", ")}`;
  }
  if (keyword !== "type" || !("type" in params)) return `format breaks \`${keyword}\``;
  const type = String(params.type);
  return `type must be ${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}

const CODED_SENTENCE = /^(\w+) (?:(\/\S+) )?(.+)$/;

function addFieldError(found: FieldError[], pointer: string, saying: string): void {
  if (found.length >= FIELD_ERRORS_MAX) return;
  const [, code = "format", member = "", detail = saying] = CODED_SENTENCE.exec(saying) ?? [];
  // Schemas word their faults as `code sentence`; a test holds the codes to the table.
  found.push({ pointer: pointer + member, code: code as FieldErrorCode, detail });
}

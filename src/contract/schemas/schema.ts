// Building blocks of message schemas: builders of JSON Schemas that carry the TypeScript type of the
// values they describe, the kinds of values that messages hold, and the compiled check. The one
// file that imports typebox: its types infer a message's type from its schema, its compiler makes
// the check. The builders are ours because they only make plain JSON Schema, and loading the
// library's own would cost every thread 100 ms of CPU at its start.
//
// Keywords that begin with `~` are no JSON Schema: `~refine` and `~optional` are typebox's, the rest
// is read by faults-of.ts, parser.ts and the OpenAPI document. Rules that JSON Schema cannot express
// (bytes, control characters, clocks) is checked by the predicates that the fast paths use too, so
// that one value has one verdict; documents show the nearest keywords.
import type { Static, TArray, TObject, TOptional, TProperties, TSchema, TUnsafe } from "typebox";
import { Build, Errors } from "typebox/schema";
import {
  describeAgentIdFault,
  isAction,
  isAgentId,
  isContentHash,
  isPlainText,
  isToken,
} from "../identifiers.ts";
import {
  ACTION_LENGTH_MAX,
  AGENT_ID_BYTES_MAX,
  BATCH_ITEMS_MAX,
  CITED_SOURCES_MAX,
  SOURCE_ID_LENGTH_MAX,
  STAKES_MAX,
} from "../limits.ts";
import { isEpochMs, parseDateTimeMs } from "../timestamps.ts";

/** The type of the values that a schema describes; after parsing, where parsing changes them. */
export type MessageOf<S extends TSchema> = Static<S>;

export type TypedSchema = TSchema;
export type Keywords = Readonly<Record<string, unknown>>;
/** A schema as this folder's readers see it. */
export interface Schema extends TSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly additionalProperties?: boolean;
  /** At most one; its error is `code sentence` or, for an object, `code /member sentence`. */
  readonly "~refine"?: readonly {
    readonly check: Check;
    readonly error: (value: unknown) => string;
  }[];
  readonly "~optional"?: true;
  /** Stands in for a member that is left out. */
  readonly "~default"?: unknown;
  /** The parsed value of a checked one. */
  readonly "~read"?: (value: unknown) => unknown;
  /** Plural of an item, for the sentence about a list's length. */
  readonly "~noun"?: string;
  /** The sentence about an unknown member. */
  readonly "~unknown"?: string;
  /** Name of a schema that documents refer to instead of repeating it. */
  readonly "~component"?: string;
  /** Keywords that documents show and `~refine` checks. */
  readonly "~shown"?: Keywords;
}

export const STRICT: Keywords = { additionalProperties: false };

/** A schema of `Value` by its keywords. */
export function defineSchema<Value>(keywords: Keywords): TUnsafe<Value> {
  return keywords as unknown as TUnsafe<Value>;
}

/** `schema` with more keywords. */
export function withKeywords<S extends TSchema>(schema: S, keywords: Keywords): S {
  return { ...schema, ...keywords };
}

/** `schema` with a sentence that documents and published types show. */
export function withDescription<S extends TSchema>(schema: S, description: string): S {
  return withKeywords(schema, { description });
}

export function makeOptional<S extends TSchema>(schema: S): TOptional<S> {
  return { ...schema, "~optional": true };
}

/** A member that may be left out, and then is `value` once parsed. */
export function withDefault<S extends TSchema>(schema: S, value: MessageOf<S>): S {
  return withKeywords(schema, { "~optional": true, "~default": value });
}

export function defineObject<P extends TProperties>(
  properties: P,
  keywords: Keywords = {},
): TObject<P> {
  const names = Object.keys(properties);
  const required = names.filter((name) => !("~optional" in (properties[name] as Schema)));
  const schema = { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
  return { ...schema, ...keywords } as unknown as TObject<P>;
}

/** An object that documents refer to by its name. */
export function defineMessage<P extends TProperties>(
  name: string,
  properties: P,
  keywords: Keywords = {},
): TObject<P> {
  return defineObject(properties, { "~component": name, ...keywords });
}

/** A message that refuses unknown members: a misspelt `expires_at` must not make an eternal key. */
export function defineStrictMessage<P extends TProperties>(
  name: string,
  properties: P,
  keywords: Keywords = {},
): TObject<P> {
  return defineMessage(name, properties, { ...STRICT, ...keywords });
}

/** The same schema for every one of these members. */
export function repeatSchema<S extends TSchema, const Name extends string>(
  schema: S,
  ...names: readonly Name[]
): Record<Name, S> {
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, S>;
}

export function defineList<S extends TSchema>(items: S, keywords: Keywords = {}): TArray<S> {
  return { type: "array", items, ...keywords } as unknown as TArray<S>;
}

export function defineChoice<const Value extends string>(values: readonly Value[]): TUnsafe<Value> {
  return defineSchema<Value>({ type: "string", enum: [...values] });
}

export function defineNullableAnswer<Value>(schema: TUnsafe<Value>): TUnsafe<Value | null> {
  const { type, enum: values } = schema as { type?: string; enum?: readonly unknown[] };
  const choices = values === undefined ? {} : { enum: [...values, null] };
  return defineSchema<Value | null>({ ...schema, type: [type, "null"], ...choices });
}

/**
 * A value that `check` accepts. `fault` gives the code and the sentence, in one string, of one that
 * is refused; with `type` among the keywords it only sees values of that type.
 */
export function defineChecked<Value>(
  keywords: Keywords,
  check: (value: unknown) => boolean,
  fault: (value: unknown) => string,
): TUnsafe<Value> {
  return defineSchema<Value>({ ...keywords, "~refine": [{ check, error: fault }] });
}

export type Check = (value: unknown) => boolean;

/** The compiled check of a schema. */
export function compileCheck(schema: TSchema): Check {
  const built = Build(schema).Evaluate();
  return (value) => built.Check(value);
}

const CHECKS = new WeakMap<TSchema, Check>();

export interface Refusal {
  readonly keyword: string;
  readonly params: object;
}

/** The first thing that is wrong with a value by a schema without members or items. */
export function findFirstRefusal(schema: TSchema, value: unknown): Refusal | undefined {
  // Most members of a refused body are sound, and typebox's search for errors is interpreted.
  const check = CHECKS.get(schema) ?? compileCheck(schema);
  CHECKS.set(schema, check);
  if (check(value)) return undefined;
  const [, errors] = Errors(schema, value);
  return errors[0];
}

/** `[...]` of 1 to 1,000. */
export function defineBatch<S extends TSchema>(items: S): TArray<S> {
  return defineList(items, { minItems: 1, maxItems: BATCH_ITEMS_MAX });
}

export const anything = defineSchema<unknown>({});
export const anObject = defineSchema<Record<string, unknown>>({ type: "object" });
export const text = defineSchema<string>({ type: "string" });
export const number = defineSchema<number>({ type: "number" });
export const integer = defineSchema<number>({ type: "integer" });
export const flag = defineSchema<boolean>({ type: "boolean" });
export const share = defineSchema<number>({ type: "number", minimum: 0, maximum: 1 });
export const time = defineSchema<string>({ type: "string", format: "date-time" });
export const textOrNull = defineNullableAnswer(text);
export const numberOrNull = defineNullableAnswer(number);
export const integerOrNull = defineNullableAnswer(integer);
export const timeOrNull = defineNullableAnswer(time);
export const texts = defineList(text);

/** A string that `check` accepts; `shown` is what documents say of it. */
function defineCheckedText(
  shown: Keywords,
  check: (value: string) => boolean,
  fault: (value: string) => string,
): TUnsafe<string> {
  // Its type is checked before: both see nothing but strings.
  type Any = (value: unknown) => never;
  return defineChecked<string>({ type: "string", "~shown": shown }, check as Any, fault as Any);
}

/** One segment of an agent identifier, as a pattern for documents. */
export const AGENT_SEGMENT = "(?!\\.{1,2}(/|$))[A-Za-z0-9._~-]{1,128}";

export const agentId = defineCheckedText(
  {
    maxLength: AGENT_ID_BYTES_MAX,
    pattern: `^agent://${AGENT_SEGMENT}(/${AGENT_SEGMENT})+$`,
  },
  isAgentId,
  (value) => `format ${describeAgentIdFault(value)}`,
);

export const action = defineCheckedText(
  { maxLength: ACTION_LENGTH_MAX, pattern: "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)+$" },
  isAction,
  () => "format must have the form `domain.operation`",
);

/** Parsed in lower case, so that records and look-ups know one spelling of a hash. */
export const contentHash = withKeywords(
  defineCheckedText(
    { pattern: "^sha256:[0-9A-Fa-f]{64}$" },
    isContentHash,
    () => "format must be `sha256:` and 64 hex digits",
  ),
  { "~read": (value: unknown) => (value as string).toLowerCase() },
);

/** A line of 1 to `bytesMax` bytes. */
export function definePlainText(bytesMax: number, shown: Keywords = {}): typeof text {
  return defineCheckedText(
    { minLength: 1, maxLength: bytesMax, ...shown },
    (value) => isPlainText(value, bytesMax),
    (value) => {
      const bytes = Buffer.byteLength(value);
      return bytes === 0 || bytes > bytesMax
        ? `length must be 1 to ${bytesMax} bytes`
        : "format must not hold control characters";
    },
  );
}

/** 1 to `lengthMax` characters that are safe in a header. */
export function defineToken(lengthMax: number): typeof text {
  return defineCheckedText(
    { minLength: 1, maxLength: lengthMax },
    (value) => isToken(value, lengthMax),
    ({ length }) =>
      length === 0 || length > lengthMax
        ? `length must be 1 to ${lengthMax} characters`
        : "format may hold only letters, digits and `._~:/+=@-`",
  );
}

/** Text without rules but for its length, which `isLength` judges and `sentence` words. */
export function defineTextOfLength(
  shown: Keywords,
  isLength: (value: string) => boolean,
  sentence: string,
): typeof text {
  return defineCheckedText(shown, isLength, () => `length ${sentence}`);
}

/** A number, bounds included. With a `sentence` whatever else it is is out of range, too. */
export function defineNumberBetween(
  minimum: number,
  maximum: number,
  sentence?: string,
): typeof number {
  return defineChecked<number>(
    { "~shown": { type: "number", minimum, maximum } },
    (value) => typeof value === "number" && value >= minimum && value <= maximum,
    (value) => {
      if (sentence !== undefined) return `range ${sentence}`;
      const isNumber = typeof value === "number";
      return isNumber ? `range must be ${minimum} to ${maximum}` : "type must be a number";
    },
  );
}

/** SPEC §2.4 leaves the bounds of stakes open: finite, 0 to STAKES_MAX. */
export const stakes = defineNumberBetween(0, STAKES_MAX);
/** The same, or `any` for no bound. */
export const stakesOrAny = defineChecked<number | "any">(
  { "~shown": { anyOf: [{ type: "number", minimum: 0, maximum: STAKES_MAX }, { const: "any" }] } },
  (value) => value === "any" || (typeof value === "number" && value >= 0 && value <= STAKES_MAX),
  (value) =>
    typeof value === "number"
      ? `range must be 0 to ${STAKES_MAX}, or \`any\``
      : "type must be a number or `any`",
);
export const internalScore = defineNumberBetween(300, 850);

const TIME_OR_MS = { anyOf: [time, { type: "integer", minimum: 0 }] };
const NO_TIME = "must be an RFC 3339 date-time or epoch milliseconds";
let lastTime: { text: string; ms: number | undefined } = { text: "", ms: undefined };

/** Asked twice of every time, by the check and by the copy: the last answer is kept. */
function parseTimeValueMs(value: unknown): number | undefined {
  if (typeof value !== "string") return value as number;
  if (value !== lastTime.text) lastTime = { text: value, ms: parseDateTimeMs(value) };
  return lastTime.ms;
}

/** An RFC 3339 date-time or epoch milliseconds; parsed, the latter. */
export const timeOrMs = defineChecked<number>(
  { "~shown": TIME_OR_MS, "~read": parseTimeValueMs },
  (value) => isEpochMs(parseTimeValueMs(value)),
  () => `format ${NO_TIME}`,
);

/** The same with a code for every fault that an outcome's time can have. */
export const settledAt = defineChecked<number>(
  { "~shown": TIME_OR_MS, "~read": parseTimeValueMs },
  (value) => isEpochMs(parseTimeValueMs(value)),
  (value) => {
    if (Number.isInteger(parseTimeValueMs(value))) return "range must be 1970 or later";
    if (typeof value === "string") return `format ${NO_TIME}`;
    return "type must be an RFC 3339 date-time or whole epoch milliseconds";
  },
);

export const sourceId = definePlainText(SOURCE_ID_LENGTH_MAX);
export const citedSources = defineList(sourceId, {
  maxItems: CITED_SOURCES_MAX,
  "~noun": "sources",
});

// The kinds of values that messages are made of. Whatever JSON Schema cannot say (bytes, control
// characters, clocks) is checked by the predicates that the fast paths use too, so that one value
// has one verdict; documents show the nearest keywords.
import { isAction, isAgentId, isContentHash, isPlainText, isToken } from "../identifiers.ts";
import { ACTION_LENGTH_MAX, AGENT_ID_BYTES_MAX, STAKES_MAX } from "../limits.ts";
import { CITED_SOURCES_MAX, SOURCE_ID_LENGTH_MAX } from "../limits.ts";
import { isEpochMs, parseDateTime } from "../timestamps.ts";
import { REASON_CODES, TOOL_LEVELS, type ToolLevel } from "../vocabulary.ts";
import { checked, type Keywords, list, oneOf, type Properties, schemaOf } from "./schema.ts";

export const anything = schemaOf<unknown>({});
export const anObject = schemaOf<Record<string, unknown>>({ type: "object" });
export const text = schemaOf<string>({ type: "string" });
export const number = schemaOf<number>({ type: "number" });
export const integer = schemaOf<number>({ type: "integer" });
export const flag = schemaOf<boolean>({ type: "boolean" });
export const share = schemaOf<number>({ type: "number", minimum: 0, maximum: 1 });
export const time = schemaOf<string>({ type: "string", format: "date-time" });
export const textOrNull = schemaOf<string | null>({ type: ["string", "null"] });
export const numberOrNull = schemaOf<number | null>({ type: ["number", "null"] });
export const integerOrNull = schemaOf<number | null>({ type: ["integer", "null"] });
export const timeOrNull = schemaOf<string | null>({
  type: ["string", "null"],
  format: "date-time",
});
export const texts = list(text);
export const reasonCodes = list(oneOf(REASON_CODES));

/** A string that `check` accepts; `shown` is what documents say of it. */
function word(
  shown: Keywords,
  check: (value: string) => boolean,
  fault: (value: string) => string,
): ReturnType<typeof schemaOf<string>> {
  return checked<string>({ type: "string", "~shown": shown }, check, fault);
}

export const agentId = word(
  {
    maxLength: AGENT_ID_BYTES_MAX,
    pattern: "^agent://[A-Za-z0-9._~-]{1,128}(/[A-Za-z0-9._~-]{1,128})+$",
  },
  isAgentId,
  () => "format must be an agent identifier, `agent://namespace/name`",
);

export const action = word(
  { maxLength: ACTION_LENGTH_MAX, pattern: "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)+$" },
  isAction,
  () => "format must have the form `domain.operation`",
);

export const contentHash = word(
  { pattern: "^sha256:[0-9a-f]{64}$" },
  isContentHash,
  () => "format must be `sha256:` and 64 lower-case hex digits",
);

/** A line of 1 to `bytesMax` bytes. */
export function plainText(bytesMax: number, shown: Keywords = {}): typeof text {
  return word(
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
export function token(lengthMax: number): typeof text {
  return word(
    { minLength: 1, maxLength: lengthMax },
    (value) => isToken(value, lengthMax),
    ({ length }) =>
      length === 0 || length > lengthMax
        ? `length must be 1 to ${lengthMax} characters`
        : "format may hold only letters, digits and `._~:/+=@-`",
  );
}

/** Text without rules but for its length, which `isLength` judges and `sentence` words. */
export function textOfLength(
  shown: Keywords,
  isLength: (value: string) => boolean,
  sentence: string,
): typeof text {
  return word(shown, isLength, () => `length ${sentence}`);
}

/** A number, bounds included. Not a finite one: out of range, as any number beyond them. */
export function between(minimum: number, maximum: number): typeof number {
  return checked<number>(
    { "~shown": { type: "number", minimum, maximum } },
    (value: unknown) => typeof value === "number" && value >= minimum && value <= maximum,
    (value: unknown) =>
      typeof value === "number"
        ? `range must be ${minimum} to ${maximum}`
        : "type must be a number",
  );
}

/** SPEC §2.4 leaves the bounds of stakes open: finite, 0 to STAKES_MAX. */
export const stakes = between(0, STAKES_MAX);
export const internalScore = between(300, 850);

/** One of `schema` for every tool level. */
export function byToolLevel<S extends Properties[string]>(schema: S): Record<ToolLevel, S> {
  return Object.fromEntries(TOOL_LEVELS.map((level) => [level, schema])) as Record<ToolLevel, S>;
}

const TIME_OR_MS = { anyOf: [time, { type: "integer", minimum: 0 }] };
const NO_TIME = "must be an RFC 3339 date-time or epoch milliseconds";

function timeMs(value: unknown): number | undefined {
  return typeof value === "string" ? parseDateTime(value) : (value as number);
}

/** An RFC 3339 date-time or epoch milliseconds; parsed, the latter. */
export const timeOrMs = checked<number>(
  { "~shown": TIME_OR_MS, "~read": timeMs },
  (value: unknown) => isEpochMs(timeMs(value)),
  () => `format ${NO_TIME}`,
);

/** The same with a code for every fault that an outcome's time can have. */
export const settledAt = checked<number>(
  { "~shown": TIME_OR_MS, "~read": timeMs },
  (value: unknown) => isEpochMs(timeMs(value)),
  (value: unknown) => {
    if (Number.isInteger(timeMs(value))) return "range must be 1970 or later";
    if (typeof value === "string") return `format ${NO_TIME}`;
    return "type must be an RFC 3339 date-time or whole epoch milliseconds";
  },
);

const SOURCES = { maxItems: CITED_SOURCES_MAX, "~noun": "sources" };
export const sourceId = plainText(SOURCE_ID_LENGTH_MAX);
export const citedSources = list(sourceId, SOURCES);
export const citedSourcesOfText = list(sourceId, { minItems: 1, ...SOURCES });

// Validation of a gate's options when the gate is made: a wrong type or a misspelled name would otherwise
// deny every call, or be ignored. Also reads the callbacks that supply a question.
import { STAKES_MAX } from "../../contract/limits.ts";
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import { TrustGateError } from "../errors.ts";

/** What a valid value of an option is. */
export interface OptionRule {
  readonly expected: string;
  readonly isValid: (value: unknown) => boolean;
  readonly isRequired?: boolean;
}

export const FUNCTION: OptionRule = {
  expected: "a function",
  isValid: (value) => typeof value === "function",
};
export const REQUIRED_FUNCTION: OptionRule = { ...FUNCTION, isRequired: true };
export const TOOL_LEVEL: OptionRule = {
  expected: `one of ${TOOL_LEVELS.join(", ")}`,
  isValid: (value) => (TOOL_LEVELS as readonly unknown[]).includes(value),
};
export const MILLISECONDS: OptionRule = {
  expected: "milliseconds, 0 or more",
  isValid: (value) => typeof value === "number" && value >= 0,
};

const ACTION_LENGTH_MAX = 256;

/** `<domain>.<operation>`, or a function that returns one. */
export const ACTION: OptionRule = {
  expected: "`<domain>.<operation>` or a function",
  isValid: (value) =>
    typeof value === "function" ||
    (typeof value === "string" &&
      value.length <= ACTION_LENGTH_MAX &&
      /^[\w-]+(?:\.[\w-]+)+$/.test(value)),
};

/** An object that has the methods that the gate calls: clients of the caller's own making are taken. */
export function createObjectRule(expected: string, methods: readonly string[]): OptionRule {
  return {
    expected,
    isValid: (value) =>
      typeof value === "object" &&
      value !== null &&
      methods.every((method) => typeof Reflect.get(value, method) === "function"),
  };
}

/**
 * Checks the options of a gate.
 * @throws TypeError that names the first option that is unknown, missing or of the wrong type.
 */
export function assertOptions(options: object, rules: Readonly<Record<string, OptionRule>>): void {
  if (typeof options !== "object" || options === null)
    throw new TypeError("the options must be an object");
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(rules, name)) continue;
    const known = Object.keys(rules).map((each) => `\`${each}\``);
    throw new TypeError(`there is no option \`${name}\`; the options are ${known.join(", ")}`);
  }
  for (const [name, { expected, isValid, isRequired = false }] of Object.entries(rules)) {
    const value: unknown = Reflect.get(options, name);
    if (value === undefined ? isRequired : !isValid(value))
      throw new TypeError(`\`${name}\` must be ${expected}`);
  }
}

/**
 * Calls a user's callback; one that throws is a refusal, never a skipped check.
 * @throws TrustGateError whose `cause` is what the callback threw.
 */
export function callOrThrowGateError<Value>(name: string, callback: () => Value): Value {
  try {
    return callback();
  } catch (cause) {
    if (cause instanceof TrustGateError) throw cause;
    throw new TrustGateError(`callback \`${name}\` failed`, undefined, cause);
  }
}

/**
 * Stakes from a user's callback, undefined where there is none. One that returns no amount refuses: it
 * must not count as a request without stakes.
 * @throws TrustGateError when it throws or returns no amount.
 */
export function readStakes(callback: (() => number) | undefined): number | undefined {
  if (callback === undefined) return undefined;
  const stakes = callOrThrowGateError("stakes", callback);
  if (typeof stakes === "number" && stakes >= 0 && stakes <= STAKES_MAX) return stakes;
  throw new TrustGateError(`callback \`stakes\` returned no number from 0 to ${STAKES_MAX}`);
}

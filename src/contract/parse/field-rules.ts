// The rules a member can break, each answering with the FieldError to report or undefined. A
// request without faults allocates no error, no list and no closure here: these run on every
// verify.
import { ServiceFault } from "../faults.ts";
import { isAction, isAgentId, isContentHash, isPlainText, isToken } from "../identifiers.ts";
import { pointerOf } from "./json-fault.ts";
import { AGENT_ID_BYTES_MAX, BATCH_ITEMS_MAX, FIELD_ERRORS_MAX, STAKES_MAX } from "../limits.ts";
import type { FieldError } from "../messages.ts";

/** The errors found so far; undefined until there is one. */
export type FieldErrors = FieldError[] | undefined;

type Broken = FieldError | undefined;

/** `errors` with one more, if there is one. */
export function note(errors: FieldErrors, found: Broken): FieldErrors {
  if (found === undefined) return errors;
  if (errors === undefined) return [found];
  if (errors.length < FIELD_ERRORS_MAX) errors.push(found);
  return errors;
}

/** The fault that reports `errors`. */
export function invalidRequest(errors: FieldError[]): ServiceFault {
  const first = errors[0] as FieldError;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const where = first.pointer === "" ? "the body" : `\`${first.pointer}\``;
  return new ServiceFault("invalid_request", `${where}: ${first.detail}${more}`, errors);
}

/** True for a JSON object. Its members may still be anything. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The body as an object, or `invalid_request` at the root. */
export function asBody(value: unknown): Record<string, unknown> {
  if (isObject(value)) return value;
  throw invalidRequest([broken("", "type", "must be an object")]);
}

/** A field error; the detail completes a sentence that begins with the pointer. */
export function broken(pointer: string, code: string, detail: string): FieldError {
  return { pointer, code, detail };
}

/** A member that is not there, or not of its type; undefined when the type is right. */
export function typeFault(pointer: string, value: unknown, type: "string" | "boolean"): Broken {
  if (typeof value === type) return undefined;
  if (value === undefined) return broken(pointer, "required", "is required");
  return broken(pointer, "type", `must be a ${type}`);
}

export function agentFault(pointer: string, value: unknown): Broken {
  if (isAgentId(value)) return undefined;
  return (
    typeFault(pointer, value, "string") ??
    broken(pointer, "format", "must be an agent identifier, `agent://namespace/name`")
  );
}

export function plainTextFault(pointer: string, value: unknown, bytesMax: number): Broken {
  if (isPlainText(value, bytesMax)) return undefined;
  const wrongType = typeFault(pointer, value, "string");
  if (wrongType !== undefined) return wrongType;
  const bytes = Buffer.byteLength(value as string);
  if (bytes === 0 || bytes > bytesMax) {
    return broken(pointer, "length", `must be 1 to ${bytesMax} bytes`);
  }
  return broken(pointer, "format", "must not hold control characters");
}

export function agentNameFault(pointer: string, value: unknown): Broken {
  return plainTextFault(pointer, value, AGENT_ID_BYTES_MAX);
}

export function actionFault(pointer: string, value: unknown): Broken {
  if (isAction(value)) return undefined;
  return (
    typeFault(pointer, value, "string") ??
    broken(pointer, "format", "must have the form `domain.operation`")
  );
}

export function contentHashFault(pointer: string, value: unknown): Broken {
  if (isContentHash(value)) return undefined;
  return (
    typeFault(pointer, value, "string") ??
    broken(pointer, "format", "must be `sha256:` and 64 lower-case hex digits")
  );
}

export function tokenFault(pointer: string, value: unknown, lengthMax: number): Broken {
  if (isToken(value, lengthMax)) return undefined;
  const wrongType = typeFault(pointer, value, "string");
  if (wrongType !== undefined) return wrongType;
  const { length } = value as string;
  if (length === 0 || length > lengthMax) {
    return broken(pointer, "length", `must be 1 to ${lengthMax} characters`);
  }
  return broken(pointer, "format", "may hold only letters, digits and `._~:/+=@-`");
}

/** SPEC §2.4 leaves the bounds of stakes open: finite, 0 to STAKES_MAX. */
export function stakesFault(pointer: string, value: unknown): Broken {
  if (typeof value === "number" && value >= 0 && value <= STAKES_MAX) return undefined;
  if (value === undefined) return broken(pointer, "required", "is required");
  if (typeof value !== "number") return broken(pointer, "type", "must be a number");
  return broken(pointer, "range", `must be 0 to ${STAKES_MAX}`);
}

export function enumFault(pointer: string, value: unknown, values: readonly string[]): Broken {
  if (typeof value === "string" && values.includes(value)) return undefined;
  return (
    typeFault(pointer, value, "string") ??
    broken(pointer, "enum", `must be one of ${values.map((each) => `\`${each}\``).join(", ")}`)
  );
}

/** The members of the object at pointer `at` that a route of ours does not know. */
export function unknownMembers(
  members: Record<string, unknown>,
  known: readonly string[],
  at = "",
): FieldErrors {
  let errors: FieldErrors;
  for (const name of Object.keys(members)) {
    if (known.includes(name)) continue;
    const pointer = at + pointerOf([name]);
    errors = note(errors, broken(pointer, "unknown", "is not a member of this request"));
  }
  return errors;
}

/**
 * The items of a body `{items: [...]}` that is taken as a whole or not at all. `itemFaults` adds
 * the faults of the item at a pointer to those found so far. Throws ServiceFault listing all.
 */
export function batchItems(
  value: unknown,
  itemFaults: (found: FieldErrors, item: unknown, at: string) => FieldErrors,
): unknown[] {
  const { items } = asBody(value);
  if (!Array.isArray(items)) throw invalidRequest([broken("/items", "type", "must be an array")]);
  if (items.length === 0 || items.length > BATCH_ITEMS_MAX) {
    const detail = `must hold 1 to ${BATCH_ITEMS_MAX} items`;
    throw invalidRequest([broken("/items", "length", detail)]);
  }
  let errors: FieldErrors;
  for (const [at, item] of items.entries()) errors = itemFaults(errors, item, `/items/${at}`);
  if (errors !== undefined) throw invalidRequest(errors);
  return items;
}

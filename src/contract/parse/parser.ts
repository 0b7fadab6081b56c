// A message's schema -> its parser: one compiled check, then a copy of the members that the schema
// names, so that nothing unknown travels on. A message that is refused is read again by
// faults-of.ts.
import { type FieldError, invalidRequest } from "../faults.ts";
import {
  type Check,
  compileCheck,
  type MessageOf,
  type Schema,
  type TypedSchema,
} from "../schemas/schema.ts";
import { listFieldErrors } from "./faults-of.ts";

/** The message in `value`, which stands at `pointer`, or its faults. */
export type MessageReader<Message> = (value: unknown, pointer?: string) => Message | FieldError[];

/** The message in a body. Throws ServiceFault `invalid_request` listing every fault. */
export type Parser<Message> = (value: unknown) => Message;

export function createMessageReader<S extends TypedSchema>(schema: S): MessageReader<MessageOf<S>> {
  // Compiled when it is first needed: a thread reads few of the messages that it loads.
  let check: Check | undefined;
  const copy = createCopier(schema) ?? ((value: unknown) => value);
  return (value, pointer) => {
    check ??= compileCheck(schema);
    if (!check(value)) return listFieldErrors(schema, value, pointer);
    return copy(value) as MessageOf<S>;
  };
}

export function createParser<S extends TypedSchema>(schema: S): Parser<MessageOf<S>> {
  const read = createMessageReader(schema);
  return (value) => {
    const found = read(value);
    if (Array.isArray(found)) throw invalidRequest(found);
    return found;
  };
}

type ValueCopier = (value: unknown) => unknown;

/** Undefined: the checked value is taken as it is. */
function createCopier(schema: Schema): ValueCopier | undefined {
  const { properties, items, "~read": read } = schema;
  if (read !== undefined) return read;
  if (properties !== undefined) return createMemberCopier(properties);
  const copy = items === undefined ? undefined : createCopier(items);
  return copy === undefined ? undefined : (values) => (values as unknown[]).map(copy);
}

/**
 * Generated, as typebox generates its checks: with a loop over the names, parsing a verify takes
 * 520 ns instead of 335, and requests have as many shapes as callers. The names are the schema's.
 */
function createMemberCopier(properties: Readonly<Record<string, Schema>>): ValueCopier {
  const required: string[] = [];
  const optional: string[] = [];
  for (const [name, property] of Object.entries(properties)) {
    const at = JSON.stringify(name);
    const isDefaulted = property["~default"] !== undefined;
    const given = isDefaulted ? `(from[${at}] ?? defaults[${at}])` : `from[${at}]`;
    const copied = createCopier(property) === undefined ? given : `copies[${at}](${given})`;
    if (property["~optional"] === undefined || isDefaulted) required.push(`${at}: ${copied}`);
    else optional.push(`if (from[${at}] !== undefined) to[${at}] = ${copied};`);
  }
  const code = `return (from) => { const to = {${required.join()}}; ${optional.join(" ")} return to; }`;
  const members = Object.entries(properties);
  const copies = Object.fromEntries(members.map(([name, each]) => [name, createCopier(each)]));
  const defaults = Object.fromEntries(members.map(([name, each]) => [name, each["~default"]]));
  // oxlint-disable-next-line typescript/no-implied-eval
  return new Function("copies", "defaults", code)(copies, defaults) as ValueCopier;
}

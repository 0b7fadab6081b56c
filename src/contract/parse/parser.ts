// A message's schema -> its parser: one compiled check, then a copy of the members that the schema
// names, so that nothing unknown travels on. A message that is refused is read again by
// faults-of.ts.
import { invalidRequest } from "../faults.ts";
import type { FieldError } from "../messages.ts";
import { compile, type MessageOf, type Schema, type TypedSchema } from "../schemas/schema.ts";
import { faultsOf } from "./faults-of.ts";

/** The message in `value`, which stands at `pointer`, or its faults. */
export type Reader<Message> = (value: unknown, pointer?: string) => Message | FieldError[];

/** The message in a body. Throws ServiceFault `invalid_request` listing every fault. */
export type Parser<Message> = (value: unknown) => Message;

export function readerOf<S extends TypedSchema>(schema: S): Reader<MessageOf<S>> {
  // Compiled when it is first needed: a thread reads few of the messages that it loads.
  let check: ((value: unknown) => boolean) | undefined;
  const copy = copierOf(schema) ?? ((value: unknown) => value);
  return (value, pointer) => {
    check ??= compile(schema);
    if (!check(value)) return faultsOf(schema, value, pointer);
    return copy(value) as MessageOf<S>;
  };
}

export function parserOf<S extends TypedSchema>(schema: S): Parser<MessageOf<S>> {
  const read = readerOf(schema);
  return (value) => {
    const found = read(value);
    if (Array.isArray(found)) throw invalidRequest(found as FieldError[]);
    return found;
  };
}

type Copy = (value: unknown) => unknown;

/** Undefined: the checked value is taken as it is. */
function copierOf(schema: Schema): Copy | undefined {
  const { properties, items, "~read": read } = schema;
  if (read !== undefined) return read;
  if (properties !== undefined) return memberCopier(properties);
  const copy = items === undefined ? undefined : copierOf(items);
  return copy === undefined ? undefined : (values) => (values as unknown[]).map(copy);
}

function memberCopier(properties: Readonly<Record<string, Schema>>): Copy {
  const names = Object.keys(properties);
  const copies = Object.values(properties).map(copierOf);
  const defaults = Object.values(properties).map((property) => property["~default"]);
  return (value) => {
    const from = value as Record<string, unknown>;
    const to: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] as string;
      const given = from[name];
      const member = given === undefined ? defaults[index] : given;
      if (member === undefined) continue;
      const copy = copies[index];
      to[name] = copy === undefined ? member : copy(member);
    }
    return to;
  };
}

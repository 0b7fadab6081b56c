// A request's value that may be null, where null means something: no label, no expiry. Beside the
// building blocks, because answers say null by their type alone and need no check.
import * as t from "./schema.ts";

/** What `schema` takes, or null; `schema` is one that is checked by a predicate. */
export function defineNullableRequest<S extends t.TypedSchema>(schema: S) {
  const { type, "~refine": rules, "~read": read, "~shown": shown } = schema as t.Schema;
  const rule = rules?.[0];
  const isOfType = (value: unknown) => type === undefined || typeof value === type;
  const typed = type === undefined ? shown : { type, ...shown };
  return t.defineChecked<t.MessageOf<S> | null>(
    {
      "~shown": { anyOf: [typed, { type: "null" }] },
      "~read": (value: unknown) => (value === null || read === undefined ? value : read(value)),
    },
    (value) => value === null || (isOfType(value) && rule?.check(value) === true),
    (value) => (isOfType(value) ? rule!.error(value) : `type must be a ${String(type)} or null`),
  );
}

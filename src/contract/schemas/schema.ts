// Builders of JSON Schemas that carry the TypeScript type of the values they describe, and their
// compiled check. The one file that imports typebox: its types infer a message's type from its
// schema, its compiler makes the check. The builders are ours because they only make plain JSON
// Schema, and loading the library's own would cost every thread 100 ms of CPU at its start.
//
// Keywords that begin with `~` are no JSON Schema: `~refine` and `~optional` are typebox's, the rest
// is read by faults-of.ts, parser.ts and the OpenAPI document.
import type { Static, TArray, TObject, TOptional, TProperties, TSchema, TUnsafe } from "typebox";
import { Compile, Errors } from "typebox/schema";

/** The type of the values that a schema describes; after parsing, where parsing changes them. */
export type MessageOf<S extends TSchema> = Static<S>;

export type Properties = TProperties;
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
  readonly "~refine"?: readonly { check(value: unknown): boolean; error(value: unknown): string }[];
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

/** Refuses members it does not know: a misspelt `expires_at` must not make an eternal key. */
export const STRICT: Keywords = { additionalProperties: false };

/** A schema of `Value` by its keywords. */
export function schemaOf<Value>(keywords: Keywords): TUnsafe<Value> {
  return keywords as unknown as TUnsafe<Value>;
}

/** `schema` with more keywords. */
export function withKeywords<S extends TSchema>(schema: S, keywords: Keywords): S {
  return { ...schema, ...keywords };
}

export function optional<S extends TSchema>(schema: S): TOptional<S> {
  return { ...schema, "~optional": true };
}

/** A member that may be left out, and then is `value` once parsed. */
export function defaulted<S extends TSchema>(schema: S, value: MessageOf<S>): S {
  return withKeywords(schema, { "~optional": true, "~default": value });
}

export function object<P extends TProperties>(properties: P, keywords: Keywords = {}): TObject<P> {
  const names = Object.keys(properties);
  const required = names.filter((name) => !("~optional" in (properties[name] as Schema)));
  const schema = { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
  return { ...schema, ...keywords } as unknown as TObject<P>;
}

/** An object that documents refer to by its name. */
export function message<P extends TProperties>(
  name: string,
  properties: P,
  keywords: Keywords = {},
): TObject<P> {
  return object(properties, { "~component": name, ...keywords });
}

export function list<S extends TSchema>(items: S, keywords: Keywords = {}): TArray<S> {
  return { type: "array", items, ...keywords } as unknown as TArray<S>;
}

export function oneOf<const Value extends string>(values: readonly Value[]): TUnsafe<Value> {
  return schemaOf<Value>({ type: "string", enum: [...values] });
}

export function oneOfOrNull<const Value extends string>(
  values: readonly Value[],
): TUnsafe<Value | null> {
  return schemaOf<Value | null>({ type: ["string", "null"], enum: [...values, null] });
}

/**
 * A value that `check` accepts. `fault` gives the code and the sentence, in one string, of one that
 * is refused; with `type` among the keywords it only sees values of that type.
 */
export function checked<Value>(
  keywords: Keywords,
  check: (value: never) => boolean,
  fault: (value: never) => string,
): TUnsafe<Value> {
  return schemaOf<Value>({ ...keywords, "~refine": [{ check, error: fault }] });
}

/** The compiled check of a schema. */
export function compile(schema: TSchema): (value: unknown) => boolean {
  const validator = Compile(schema);
  return (value) => validator.Check(value);
}

export interface Refusal {
  readonly keyword: string;
  readonly params: object;
}

/** The first thing that is wrong with a value by a schema without members or items. */
export function refusalOf(schema: TSchema, value: unknown): Refusal | undefined {
  const [, errors] = Errors(schema, value);
  return errors[0];
}

// Grammar of the fuzzer: documents that a schema of the OpenAPI document allows, then changed in their
// values, their text or their bytes. Everything is drawn by fast-check, so that one seed gives the
// same bytes again.
import fc from "fast-check";
import { encodeMsgpack } from "../../../src/http/codec/msgpack.ts";

export type Schema = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;

const AGENTS = [
  "agent://acme/ledger-sync",
  "agent://globex/price-scout",
  "agent://test/connect",
  "agent://x/y",
];
const SHA = `sha256:${"ab".repeat(32)}`;

/** Values that a schema's pattern or meaning asks for, by the member's name. */
const KNOWN: Readonly<Record<string, readonly unknown[]>> = {
  agent_id: AGENTS,
  subject: AGENTS,
  reporter: AGENTS,
  initiator: AGENTS,
  counterparty: AGENTS,
  action: ["order.place", "payments.transfer", "a.b.c"],
  content_hash: [SHA],
  sha256: [SHA],
  kid: ["kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"],
  x: ["11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"],
  sql: ["SELECT 1", "SELECT count(*) FROM outcomes", "FROM decisions LIMIT 1", "SELECT '", "WITH"],
  // Expensive by design and for operators: a run is asked for only to be refused.
  dry_run: [true],
  wait: [false],
  namespace: ["acme", "globex"],
};

const DEPTH_MAX = 6;

/** Values that the schema allows, as nearly as its keywords say. */
export function valuesOf(
  schema: Schema,
  schemas: Schemas,
  name = "",
  depth = 0,
): fc.Arbitrary<unknown> {
  const reference = schema["$ref"];
  if (typeof reference === "string") {
    const target = schemas[reference.slice(reference.lastIndexOf("/") + 1)] ?? {};
    return valuesOf(target, schemas, name, depth);
  }
  if ("const" in schema) return fc.constant(schema["const"]);
  const known = KNOWN[name];
  if (known !== undefined) return fc.constantFrom(...known);
  const choices = schema["enum"] ?? undefined;
  if (Array.isArray(choices)) return fc.constantFrom(...(choices as unknown[]));
  const any = schema["anyOf"];
  if (Array.isArray(any))
    return fc.oneof(...(any as Schema[]).map((each) => valuesOf(each, schemas, name, depth)));
  const types = [schema["type"] ?? []].flat() as string[];
  const typed = types.map((type) => valuesOfType(type, schema, schemas, depth));
  return typed.length === 0 ? fc.jsonValue({ maxDepth: 2 }) : fc.oneof(...typed);
}

function valuesOfType(
  type: string,
  schema: Schema,
  schemas: Schemas,
  depth: number,
): fc.Arbitrary<unknown> {
  const numberIn = (word: string, otherwise: number) => Number(schema[word] ?? otherwise);
  switch (type) {
    case "object":
      return objectsOf(schema, schemas, depth);
    case "array": {
      const items = (schema["items"] ?? {}) as Schema;
      const maxLength = depth > DEPTH_MAX ? 0 : Math.min(4, numberIn("maxItems", 4));
      return fc.array(valuesOf(items, schemas, "", depth + 1), {
        minLength: Math.min(1, maxLength),
        maxLength,
      });
    }
    case "string":
      if (schema["format"] === "date-time")
        return fc.constantFrom("2026-01-02T03:04:05Z", "2030-01-01T00:00:00Z");
      return fc.string({
        minLength: numberIn("minLength", 0),
        maxLength: Math.min(64, numberIn("maxLength", 64)),
      });
    case "integer":
      return fc.integer({
        min: Math.ceil(numberIn("minimum", 0)),
        max: Math.floor(Math.min(2 ** 31 - 1, numberIn("maximum", 2 ** 31 - 1))),
      });
    case "number":
      return fc.double({ min: numberIn("minimum", 0), max: numberIn("maximum", 1e6), noNaN: true });
    case "boolean":
      return fc.boolean();
    default:
      return fc.constant(null);
  }
}

function objectsOf(schema: Schema, schemas: Schemas, depth: number): fc.Arbitrary<unknown> {
  const properties = (schema["properties"] ?? {}) as Schemas;
  const required = (schema["required"] ?? []) as string[];
  const members = Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => depth <= DEPTH_MAX || required.includes(name))
      .map(([name, each]) => [name, valuesOf(each, schemas, name, depth + 1)]),
  );
  return fc.record(members, {
    requiredKeys: required.filter((name) => name in members),
    noNullPrototype: true,
  });
}

/** Texts that stand where a value stood: not all of them are JSON. */
const RAW_VALUES = [
  "null",
  "true",
  "[]",
  "{}",
  '""',
  "-0",
  "-1",
  "1e400",
  "-1e309",
  "1e-400",
  "01",
  "+1",
  ".5",
  "1.",
  "0x1",
  "NaN",
  "Infinity",
  "9007199254740993",
  "1e12",
  "1000000000001",
  '"\\u0000"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\u12"',
  '"\\x41"',
  "'a'",
  '"\t"',
  "undefined",
  "//",
  "/**/1",
  "[1,]",
  '{"a":1,}',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"a":1,"a":2}',
  '"agent://acme/../x"',
  '"agent://"',
  '"' + "a".repeat(600) + '"',
  "[".repeat(12) + "]".repeat(12),
  '{"a":'.repeat(9) + "1" + "}".repeat(9),
  `[${"0,".repeat(3000)}0]`,
  '"\ufeff"',
  '"\u202e\u0301"',
  '"=cmd|x"',
  '"; DROP TABLE applied --"',
  '"${jndi:ldap://x}"',
  '"../../etc/passwd"',
];

/** One change of a JSON text: a value replaced, a member doubled, dropped or added. */
interface TextChange {
  readonly at: number;
  readonly kind: "replace" | "double" | "drop" | "add";
  readonly raw: string;
}

const textChange: fc.Arbitrary<TextChange> = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom("replace", "replace", "double", "drop", "add"),
  raw: fc.oneof(fc.constantFrom(...RAW_VALUES), fc.json({ maxDepth: 2 })),
});

/** Plain scan for members: `"name":value` where the value is a scalar or the start of a container. */
const MEMBER = /"(?:[^"\\]|\\.)*":(?:"(?:[^"\\]|\\.)*"|[-\d.eE+]+|true|false|null|\[\]|\{\})/g;

function changedText(text: string, { at, kind, raw }: TextChange): string {
  const found = [...text.matchAll(MEMBER)];
  const member = found[at % Math.max(1, found.length)];
  if (member === undefined) return kind === "add" ? raw : text;
  const { index } = member;
  const [whole] = member;
  const colon = whole.indexOf('":') + 2;
  const end = index + whole.length;
  if (kind === "replace") return text.slice(0, index + colon) + raw + text.slice(end);
  if (kind === "double")
    return `${text.slice(0, end)},${whole.slice(0, colon)}${raw}${text.slice(end)}`;
  if (kind === "add") return `${text.slice(0, index)}"from_nowhere":${raw},${text.slice(index)}`;
  const comma = text[end] === "," ? end + 1 : end;
  return text.slice(0, index) + text.slice(comma);
}

export interface ByteChange {
  readonly at: number;
  readonly kind: "flip" | "insert" | "delete" | "copy" | "cut" | "set";
  readonly byte: number;
}

export const byteChange: fc.Arbitrary<ByteChange> = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom("flip", "insert", "delete", "copy", "cut", "set"),
  byte: fc.oneof(
    fc.nat(255),
    // Tokens of MessagePack: binary, extensions, floats, 64-bit numbers, counts of four bytes.
    fc.constantFrom(
      0xc1,
      0xc4,
      0xc7,
      0xca,
      0xcb,
      0xcf,
      0xd3,
      0xd4,
      0xd8,
      0xdb,
      0xdd,
      0xdf,
      0xff,
      0x00,
    ),
  ),
});

/** The bytes after one change. */
export function changedBytes(bytes: Uint8Array, { at, kind, byte }: ByteChange): Uint8Array {
  if (bytes.length === 0) return bytes;
  const index = at % bytes.length;
  const head = bytes.subarray(0, index);
  const tail = bytes.subarray(index);
  const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
  if (kind === "insert") return join(head, Uint8Array.of(byte), tail);
  if (kind === "delete") return join(head, tail.subarray(1));
  if (kind === "copy") return join(head, tail.subarray(0, 32), tail);
  if (kind === "cut") return head;
  const flipped = kind === "flip" ? (tail[0] ?? 0) ^ (1 << (byte & 7)) : byte;
  return join(head, Uint8Array.of(flipped), tail.subarray(1));
}

export type BodyFormat = "json" | "msgpack" | "lines";

/** Bytes of a body: mostly what the schema allows, then damaged; sometimes left as it is. */
export function bodiesOf(
  schema: Schema,
  schemas: Schemas,
  format: BodyFormat,
): fc.Arbitrary<Uint8Array> {
  const parts = fc.record({
    value: valuesOf(schema, schemas),
    texts: fc.oneof(fc.constant<TextChange[]>([]), fc.array(textChange, { maxLength: 3 })),
    bytes: fc.oneof(
      { weight: 2, arbitrary: fc.constant<ByteChange[]>([]) },
      fc.array(byteChange, { maxLength: 4 }),
    ),
  });
  return parts.map(({ value, texts, bytes }) => {
    const start = format === "msgpack" ? packed(value, texts) : written(value, texts);
    return bytes.reduce(changedBytes, start);
  });
}

function written(value: unknown, changes: readonly TextChange[]): Uint8Array {
  const text = JSON.stringify(value) ?? "null";
  return new Uint8Array(Buffer.from(changes.reduce(changedText, text)));
}

/** Changes that are still JSON are packed; the others leave the value as it was. */
function packed(value: unknown, changes: readonly TextChange[]): Uint8Array {
  const text = JSON.stringify(value) ?? "null";
  for (const each of [changes.reduce(changedText, text), text]) {
    try {
      return new Uint8Array(encodeMsgpack(JSON.parse(each)));
    } catch {
      // Not JSON any more.
    }
  }
  return new Uint8Array(encodeMsgpack(null));
}

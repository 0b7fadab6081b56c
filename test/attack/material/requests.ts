// Requests of the fuzzer over every route of the service's own OpenAPI document: method, path with its
// parameters, query, headers and body, drawn by fast-check from one seed.
import fc from "fast-check";
import type { WireRequest } from "../wire.ts";
import {
  bodiesOf,
  type BodyFormat,
  byteChange,
  type ByteChange,
  type Schema,
  type Schemas,
} from "./documents.ts";

/** One operation of the OpenAPI document. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Scope that the document asks for; `key`: any valid key; `optional`: with or without; `none`: no key. */
  readonly access: string;
  readonly queryNames: readonly string[];
  /** Media types of its body and their schemas; empty without a body. */
  readonly bodies: Readonly<Record<string, Schema>>;
}

export interface ApiDocument {
  readonly operations: readonly Operation[];
  readonly schemas: Schemas;
  /** Codes that a problem may have. */
  readonly codes: ReadonlySet<string>;
}

interface RawOperation {
  operationId: string;
  /** Headers are references, and no matter of the fuzzer. */
  parameters?: { name?: string; in?: string }[];
  security: object[];
  "x-required-scope"?: string;
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** Reads the document that a service gives out. */
export function readApi(text: string): ApiDocument {
  const document = JSON.parse(text) as {
    paths: Record<string, Record<string, RawOperation>>;
    components: { schemas: Schemas };
  };
  const raw = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );
  const operations = raw.map(({ path, method, operation }) => ({
    name: operation.operationId,
    method: method.toUpperCase(),
    path,
    access: operation["x-required-scope"] ?? accessOf(operation),
    queryNames: (operation.parameters ?? [])
      .filter((each) => each.in === "query")
      .map(({ name = "" }) => name),
    bodies: Object.fromEntries(
      Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) => [
        type,
        schema,
      ]),
    ),
  }));
  const { schemas } = document.components;
  const problem = schemas["Problem"] as { properties: { code: { enum: readonly string[] } } };
  return { operations, schemas, codes: new Set(problem.properties.code.enum) };
}

function accessOf({ security }: RawOperation): string {
  if (security.length === 0) return "none";
  return security.some((each) => Object.keys(each).length === 0) ? "optional" : "key";
}

/** Values of a path's parameter, already as they stand on the wire. */
const PARAMETERS = [
  "agent%3A%2F%2Facme%2Fledger-sync",
  "agent://acme/ledger-sync",
  "agent://acme/ledger-sync/keys",
  "x",
  "outcomes",
  "decisions",
  "doc:1",
  "..",
  "../../etc/passwd",
  "%2e%2e%2f",
  "%",
  "%zz",
  "%00",
  "%c0%af",
  "%ff",
  "%ed%a0%80",
  "a".repeat(513),
  "%61".repeat(600),
  "'",
  '"',
  ";--",
  "*",
  "{id}",
  "__proto__",
  "constructor",
  "a b".replace(" ", "+"),
  "0198c5d2-0000-7000-8000-000000000001",
  "%E2%80%AE",
  "a%0d%0aX:%20y",
  "a%09",
  "//",
  "./",
  "a/b/c/d/e",
  "a;b=c",
  "a#b",
];
const QUERY_VALUES = [
  "",
  "1",
  "0",
  "-1",
  "1001",
  "1e3",
  "999999999999999",
  "99999999999999999999",
  "2026-01-31",
  "2026-02-30",
  "true",
  "agent://acme/ledger-sync",
  "envoy",
  "nginx",
  "%",
  "%00",
  "%ff",
  "a&a=b",
  "'",
  "__proto__",
  "subject",
  "tenant",
  "2026-01-31T00:00:00Z",
  "L0",
  "L2",
  "order.place",
  "x".repeat(700),
  "%0d%0aX:y",
  "outcomes:write",
];
const MEDIA = [
  "application/json",
  "application/msgpack",
  "application/x-ndjson",
  "text/plain",
  "",
  "application/json; charset=utf-16",
  "x".repeat(200),
  "application/json;;;=",
  "multipart/form-data; boundary=x",
];
const HEADERS: Readonly<Record<string, readonly string[]>> = {
  accept: [
    "*/*",
    "application/msgpack",
    "application/json;q=0",
    "text/html",
    ",,,",
    "a/b;q=x",
    "x".repeat(600),
    "application/x-ndjson",
    "application/json;q=2, */*;q=-1",
    ";",
  ],
  "x-deadline-ms": ["0", "1", "5", "100", "99999999", "-1", "soon", "1e3", ""],
  "x-request-id": ["r-1", "", " ", "a b", "é", "x".repeat(200), "__proto__", "../x"],
  "idempotency-key": ["k-1", "", "a b", "x".repeat(200), "=1+1"],
  traceparent: [
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-0-0-0",
    "",
    "ff-" + "0".repeat(52),
  ],
  "x-jws-signature": [
    "a..b",
    "",
    "..",
    "e30..AAAA",
    "x".repeat(1200),
    "eyJhbGciOiJub25lIn0.." + "A".repeat(86),
  ],
  "x-server-timing": ["1", "0"],
  "x-trust-agent-id": ["agent://acme/ledger-sync", "agent://", "", "x".repeat(600)],
  "x-trust-action": ["order.place", "", "..", "="],
  "x-trust-tool-level": ["L0", "L3", "L9", ""],
  "x-trust-stakes": ["1", "-1", "1e99", "NaN", ""],
  "x-trust-session-sec": ["1", "x", "99999999999999"],
  "content-encoding": ["gzip", "identity", "br"],
  expect: ["100-continue", "x"],
  connection: ["keep-alive"],
};

/** A request, and the scopes' key that it is to be sent with. */
export interface DrawnRequest {
  readonly operation: string;
  readonly format: BodyFormat | "none";
  readonly request: Omit<WireRequest, "key">;
  /** Changes of the whole request's bytes, its head among them. */
  readonly damage: readonly ByteChange[];
}

/** Requests to one operation. */
function requestsTo(operation: Operation, schemas: Schemas): fc.Arbitrary<DrawnRequest> {
  const bodies = Object.entries(operation.bodies).map(([type, schema]) => {
    const format: BodyFormat = type.endsWith("msgpack")
      ? "msgpack"
      : type.includes("ndjson")
        ? "lines"
        : "json";
    return bodiesOf(schema, schemas, format).map((body) => ({ type, format, body }));
  });
  const none = fc.constant({ type: "", format: "none" as const, body: undefined });
  const headers = fc.dictionary(fc.constantFrom(...Object.keys(HEADERS)), fc.nat(), {
    maxKeys: 3,
    noNullPrototype: true,
  });
  return fc
    .record({
      payload: bodies.length === 0 ? none : fc.oneof(...bodies),
      parameter: fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom(...PARAMETERS) },
        fc.webPath({ size: "small" }),
      ),
      query: fc.array(fc.tuple(fc.nat(), fc.constantFrom(...QUERY_VALUES)), { maxLength: 3 }),
      media: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, fc.constantFrom(...MEDIA)),
      headers: fc.option(headers, { freq: 2 }),
      damage: fc.oneof(
        { weight: 30, arbitrary: fc.constant<ByteChange[]>([]) },
        fc.array(byteChange, { minLength: 1, maxLength: 3 }),
      ),
    })
    .map(({ payload, parameter, query, media, headers: drawn, damage }) => {
      const path = operation.path.replace(/\{\w+\}/, () => parameter.replace(/^\//, "") || "x");
      const names = operation.queryNames;
      const pairs = query.map(
        ([at, value]) => `${names[at % Math.max(1, names.length)] ?? "a"}=${value}`,
      );
      const type = media ?? payload.type;
      const extra = Object.entries(drawn ?? {}).map(([name, at]) => {
        const values = HEADERS[name]!;
        return [name, values[at % values.length]!] as const;
      });
      return {
        operation: operation.name,
        format: payload.format,
        damage,
        request: {
          method: operation.method,
          path: pairs.length === 0 ? path : `${path}?${pairs.join("&")}`,
          headers: {
            ...(type === "" ? {} : { "content-type": type }),
            ...Object.fromEntries(extra),
          },
          body: payload.body,
        },
      };
    });
}

/** Operations whose valid requests are expensive or end what the others need. */
const SKIPPED = new Set([
  "kaizen_run",
  "kaizen_rollback",
  "credibility_refresh",
  "policy_backtest",
]);

/** Requests to all operations, each as often as the others. */
export function anyRequest({ operations, schemas }: ApiDocument): fc.Arbitrary<DrawnRequest> {
  const fuzzed = operations.filter(({ name }) => !SKIPPED.has(name));
  return fc.oneof(...fuzzed.map((operation) => requestsTo(operation, schemas)));
}

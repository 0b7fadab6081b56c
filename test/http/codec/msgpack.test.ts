// MessagePack: same shapes, same limits, same problems as JSON; the walker against the library on
// random documents, and the forms JSON could not say, refused.
import fc from "fast-check";
import { pack, Packr } from "msgpackr";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServiceFault } from "../../../src/contract/faults.ts";
import { encodeMsgpack, parseMsgpack } from "../../../src/http/codec/msgpack.ts";
import { call, problemIn } from "../_client.ts";
import {
  CHECK_BODY,
  describeAdapters,
  HANDSHAKE_BODY,
  openTestServer,
  OUTCOME_BODY,
  type TestServer,
  VERIFY_BODY,
} from "../_setup.ts";

const TYPE = "application/msgpack";

function faultOf(bytes: Uint8Array): ServiceFault {
  try {
    parseMsgpack(Buffer.from(bytes));
  } catch (thrown) {
    if (thrown instanceof ServiceFault) return thrown;
    throw thrown;
  }
  throw new Error("was accepted");
}

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");

describe("parseMsgpack", () => {
  it("reads back every JSON value the encoder writes", () => {
    const key = fc
      .string({ unit: "grapheme", maxLength: 40 })
      .filter((name) => name !== "__proto__");
    const { document } = fc.letrec((tie) => ({
      document: fc.oneof(
        { depthSize: "small", maxDepth: 6 },
        fc.constant(null),
        fc.boolean(),
        fc.maxSafeInteger(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
        fc.string({ unit: "grapheme", maxLength: 300 }),
        fc.array(tie("document"), { maxLength: 20 }),
        fc.dictionary(key, tie("document"), { maxKeys: 20, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(document, (value) => {
        const read = parseMsgpack(Buffer.from(encodeMsgpack(value)));
        expect(JSON.stringify(read)).toBe(JSON.stringify(value));
      }),
      { numRuns: 1500 },
    );
  });

  it("never throws anything but a fault, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), (bytes) => {
        try {
          parseMsgpack(Buffer.from(bytes));
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ServiceFault);
        }
      }),
      { numRuns: 10_000 },
    );
  });

  it.each<[string, Uint8Array, string, string]>([
    ["a duplicate member", hex("82 a161 01 a161 02"), "/a", "duplicate"],
    ["a duplicate below", hex("81 a178 91 82 a162 01 a162 02"), "/x/0/b", "duplicate"],
    ["a Date", new Packr({ useRecords: false }).pack({ at: new Date(5) }), "/at", "type"],
    ["a big integer", pack({ n: 2n ** 60n }), "/n", "range"],
    ["a negative big integer", hex("81 a16e d3 8000000000000000"), "/n", "range"],
    ["NaN", pack({ n: Number.NaN }), "/n", "range"],
    ["infinity", hex("81 a16e ca 7f800000"), "/n", "range"],
    ["undefined", hex("81 a16e d4 00 00"), "/n", "type"],
    ["binary", pack({ n: Buffer.from("x") }), "/n", "type"],
    ["an extension", hex("81 a16e c7 01 05 00"), "/n", "type"],
    ["the unused code", hex("81 a16e c1"), "/n", "type"],
    ["a number as a name", hex("81 01 02"), "", "type"],
    ["bytes that are no text", hex("81 a16e a1 ff"), "/n", "format"],
  ])("refuses %s", (_name, bytes, pointer, code) => {
    const fault = faultOf(bytes);
    expect(fault.code).toBe("invalid_request");
    expect(fault.errors).toMatchObject([{ pointer, code }]);
  });

  it.each<[string, Uint8Array]>([
    ["nothing", hex("")],
    ["a cut string", hex("a5 61")],
    ["a cut length", hex("da 01")],
    ["two values", hex("01 02")],
    ["an array that claims four billion items", hex("dd ffffffff")],
    ["a map that claims four billion members", hex("df ffffffff")],
    ["a string that claims four gigabytes", hex("db ffffffff 61")],
  ])("refuses %s", (_name, bytes) => {
    expect(faultOf(bytes).code).toBe("malformed_body");
  });

  it("holds nesting to the same limit as JSON", () => {
    expect(parseMsgpack(Buffer.concat([Buffer.alloc(8, 0x91), hex("01")]))).toBeTypeOf("object");
    const fault = faultOf(Buffer.alloc(100_000, 0x91));
    expect([fault.code, fault.errors[0]?.code]).toEqual(["malformed_body", "depth"]);
  });

  it("leaves undefined members out, as JSON does", () => {
    const value = { a: 1, b: undefined, c: { d: undefined } };
    expect(parseMsgpack(Buffer.from(encodeMsgpack(value)))).toEqual({ a: 1, c: {} });
  });

  it("keeps `__proto__` from touching prototypes", () => {
    const bytes = hex("81 a9 5f5f70726f746f5f5f 81 a161 01");
    const value = parseMsgpack(bytes) as Record<string, unknown>;
    expect(value["a"]).toBeUndefined();
    expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
  });
});

describeAdapters("MessagePack over HTTP", (adapter) => {
  let service: TestServer;
  beforeAll(async () => {
    service = await openTestServer(adapter);
  });
  afterAll(async () => {
    await service.stop();
  });

  it.each<[string, object]>([
    ["/v1/trust/verify", VERIFY_BODY],
    ["/v1/trust/verify/batch", { items: [VERIFY_BODY, {}] }],
    ["/v1/check", CHECK_BODY],
    ["/v1/handshake", HANDSHAKE_BODY],
    ["/v1/outcomes", { ...OUTCOME_BODY, id: "same" }],
  ])("says the same as JSON on %s", async (path, body) => {
    await call(service, path, { body });
    const headers = { accept: TYPE, "content-type": TYPE };
    const response = await fetch(service.base + path, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${service.key}` },
      body: new Uint8Array(pack(body)),
    });
    expect(response.headers.get("content-type")).toBe(TYPE);
    const value = parseMsgpack(Buffer.from(await response.arrayBuffer()));
    const json = await call(service, path, { body });
    expect(response.status).toBe(json.status);
    expect(withoutIds(value)).toEqual(withoutIds(json.json));
  });

  it("answers problems as problem+json, with pointers", async () => {
    const bytes = new Uint8Array(pack({ subject: "agent://a/b", stakes: -1 }));
    const headers = { "content-type": TYPE, accept: TYPE };
    const problem = problemIn(await call(service, "/v1/check", { bytes, headers }));
    expect(problem.errors).toMatchObject([{ pointer: "/stakes", code: "range" }]);
  });

  it("serves documents of GET routes", async () => {
    for (const path of ["/v1/usage", "/openapi.json", "/v1/agents/agent://a/b"]) {
      const headers = { accept: TYPE, authorization: `Bearer ${service.key}` };
      const response = await fetch(service.base + path, { headers });
      expect(response.headers.get("content-type")).toBe(TYPE);
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(new Packr().unpack(bytes)).toBeTypeOf("object");
    }
  });
});

/** Batch items carry ids of their own. */
function withoutIds(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, inner) => (name === "request_id" ? undefined : inner)),
  );
}

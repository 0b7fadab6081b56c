// Every member of every request: missing, of the wrong type, out of range, of the wrong form, each
// with its code and pointer; and that all faults of one body come together.
import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceFault } from "../../../src/contract/faults.ts";
import { FIELD_ERRORS_MAX } from "../../../src/contract/limits.ts";
import { parseKeyRequest, parseQueryRequest } from "../../../src/contract/parse/requests.ts";
import {
  parseCheckRequest,
  parseEvidenceRequest,
  parseHandshakeRequest,
  parseOutcomeRequest,
  parseProvenanceRecord,
  parseVerifyBatch,
  parseVerifyRequest,
} from "../../../src/contract/parse/requests.ts";
import { CHECK_BODY, HANDSHAKE_BODY, OUTCOME_BODY, VERIFY_BODY } from "../../http/_setup.ts";

type Parse = (value: unknown) => unknown;
type Row = [member: string, value: unknown, pointer: string, code: string];

function errorsOf(parse: Parse, value: unknown): [string, string][] {
  try {
    parse(value);
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    expect(thrown.code).toBe("invalid_request");
    return thrown.errors.map((error) => [error.pointer, error.code]);
  }
  return [];
}

const hashOf = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;
const HASH_OF_B = hashOf("b");

/** `undefined` as the value leaves the member out. */
function withMember(body: object, member: string, value: unknown): object {
  const copy: Record<string, unknown> = { ...body };
  if (value === undefined) delete copy[member];
  else copy[member] = value;
  return copy;
}

const AGENT_ROWS = (member: string): Row[] => [
  [member, undefined, `/${member}`, "required"],
  [member, 7, `/${member}`, "type"],
  [member, null, `/${member}`, "type"],
  [member, "agent://ns", `/${member}`, "format"],
  [member, "", `/${member}`, "format"],
];
const STAKES_ROWS: Row[] = [
  ["stakes", undefined, "/stakes", "required"],
  ["stakes", "1", "/stakes", "type"],
  ["stakes", null, "/stakes", "type"],
  ["stakes", -1, "/stakes", "range"],
  ["stakes", 1e13, "/stakes", "range"],
  ["stakes", Number.POSITIVE_INFINITY, "/stakes", "range"],
  ["stakes", Number.NaN, "/stakes", "range"],
];

const VERIFY_ROWS: Row[] = [
  ["agent_id", undefined, "/agent_id", "required"],
  ["agent_id", 7, "/agent_id", "type"],
  ["agent_id", "", "/agent_id", "length"],
  ["agent_id", "x".repeat(513), "/agent_id", "length"],
  ["agent_id", "é".repeat(257), "/agent_id", "length"],
  ["agent_id", "a\u0000b", "/agent_id", "format"],
  ["action", undefined, "/action", "required"],
  ["action", {}, "/action", "type"],
  ["action", "transfer", "/action", "format"],
  ["tool_level", undefined, "/tool_level", "required"],
  ["tool_level", 3, "/tool_level", "type"],
  ["tool_level", "L4", "/tool_level", "enum"],
  ["tool_level", "l3", "/tool_level", "enum"],
  ["context", null, "/context", "type"],
  ["context", [], "/context", "type"],
  ["context", "x", "/context", "type"],
  ["context", { content_hash: 1 }, "/context/content_hash", "type"],
  ["context", { content_hash: "md5:00" }, "/context/content_hash", "format"],
  ["context", { content: "a", content_hash: HASH_OF_B }, "/context/content_hash", "mismatch"],
  ["context", { content: "", content_hash: HASH_OF_B }, "/context/content_hash", "mismatch"],
  ["context", { cited_sources: "a" }, "/context/cited_sources", "type"],
  ["context", { cited_sources: Array(65).fill("a") }, "/context/cited_sources", "length"],
  ["context", { cited_sources: ["a", 5] }, "/context/cited_sources/1", "type"],
  ["context", { cited_sources: [""] }, "/context/cited_sources/0", "length"],
  ["context", { cited_sources: ["a\n"] }, "/context/cited_sources/0", "format"],
  ["context", { session_duration_sec: "1" }, "/context/session_duration_sec", "type"],
  ["context", { session_duration_sec: 1.5 }, "/context/session_duration_sec", "type"],
  ["context", { session_duration_sec: -1 }, "/context/session_duration_sec", "range"],
  ["context", { content: 1 }, "/context/content", "type"],
  ["context", { content_type: 1 }, "/context/content_type", "type"],
  ["context", { content_type: "x".repeat(129) }, "/context/content_type", "length"],
  ["context", { question: [] }, "/context/question", "type"],
  ...STAKES_ROWS.filter(([, value]) => value !== undefined),
];

const OUTCOME_ROWS: Row[] = [
  ...AGENT_ROWS("subject"),
  ...AGENT_ROWS("reporter"),
  ...STAKES_ROWS,
  ["outcome", undefined, "/outcome", "required"],
  ["outcome", "1", "/outcome", "type"],
  ["outcome", true, "/outcome", "type"],
  ["outcome", 0.5, "/outcome", "type"],
  ["outcome", null, "/outcome", "type"],
  ["outcome", 2, "/outcome", "enum"],
  ["outcome", -1, "/outcome", "enum"],
  ["grade", undefined, "/grade", "required"],
  ["grade", 1, "/grade", "type"],
  ["grade", "hearsay", "/grade", "enum"],
  ["id", "", "/id", "length"],
  ["id", "x".repeat(129), "/id", "length"],
  ["id", "a b", "/id", "format"],
  ["id", 5, "/id", "type"],
  ["settled_at", "yesterday", "/settled_at", "format"],
  ["settled_at", "1969-12-31T23:59:59Z", "/settled_at", "range"],
  ["settled_at", -5, "/settled_at", "range"],
  ["settled_at", 1.5, "/settled_at", "type"],
  ["settled_at", null, "/settled_at", "type"],
  ["agent_fault", "false", "/agent_fault", "type"],
  ["action", "x", "/action", "format"],
  ["request_id", "a b", "/request_id", "format"],
];

const KEY_BODY = { tenant: "acme", scopes: ["score:read"] };
const KEY_ROWS: Row[] = [
  ["tenant", undefined, "/tenant", "required"],
  ["tenant", 1, "/tenant", "type"],
  ["tenant", "", "/tenant", "length"],
  ["scopes", undefined, "/scopes", "required"],
  ["scopes", "score:read", "/scopes", "type"],
  ["scopes", [], "/scopes", "length"],
  ["scopes", ["score:write"], "/scopes/0", "enum"],
  ["minimum_scores", 5, "/minimum_scores", "type"],
  ["minimum_scores", { L4: 500 }, "/minimum_scores/L4", "unknown"],
  ["minimum_scores", { L3: "500" }, "/minimum_scores/L3", "type"],
  ["minimum_scores", { L3: 299 }, "/minimum_scores/L3", "range"],
  ["is_shadow", 1, "/is_shadow", "type"],
  ["label", "", "/label", "length"],
  ["expires_at", "soon", "/expires_at", "format"],
  ["expires_at", -1, "/expires_at", "format"],
  ["expires", 5, "/expires", "unknown"],
  ["__proto", 5, "/__proto", "unknown"],
];

describe.each<[string, Parse, object, Row[]]>([
  ["verify", parseVerifyRequest, VERIFY_BODY, VERIFY_ROWS],
  ["check", parseCheckRequest, CHECK_BODY, [...AGENT_ROWS("subject"), ...STAKES_ROWS]],
  [
    "handshake",
    parseHandshakeRequest,
    HANDSHAKE_BODY,
    [...AGENT_ROWS("initiator"), ...AGENT_ROWS("counterparty"), ...STAKES_ROWS],
  ],
  ["outcome", parseOutcomeRequest, OUTCOME_BODY, OUTCOME_ROWS],
  ["key", parseKeyRequest, KEY_BODY, KEY_ROWS],
  [
    "query",
    parseQueryRequest,
    { sql: "select 1", params: [], format: "json" },
    [
      ["sql", undefined, "/sql", "required"],
      ["sql", 1, "/sql", "type"],
      ["sql", "", "/sql", "length"],
      ["format", "xml", "/format", "enum"],
      ["limit", 5, "/limit", "unknown"],
    ],
  ],
])("%s request", (_name, parse, body, rows) => {
  it("copies a valid body", () => {
    expect(parse(body)).toEqual(body);
  });

  it.each([null, 5, "x", [], true])("refuses %j at the root", (value) => {
    expect(errorsOf(parse, value)).toEqual([["", "type"]]);
  });

  it.each(rows)("refuses %s = %j", (member, value, pointer, code) => {
    expect(errorsOf(parse, withMember(body, member, value))).toEqual([[pointer, code]]);
  });
});

describe("what the specification leaves open", () => {
  it("ignores unknown members and does not copy them", () => {
    expect(parseCheckRequest({ ...CHECK_BODY, future: 1 })).toEqual(CHECK_BODY);
    const verified = parseVerifyRequest({ ...VERIFY_BODY, future: 1, context: { future: 2 } });
    expect(verified).toEqual({ ...VERIFY_BODY, context: {} });
  });

  it("takes a verify request without context", () => {
    expect(parseVerifyRequest(withMember(VERIFY_BODY, "context", undefined))).toEqual({
      ...VERIFY_BODY,
      context: {},
    });
  });

  it("takes any plain string as agent_id, as it is", () => {
    for (const agentId of ["support-bot", "agents://x", " padded ", "Zoë 🤖"]) {
      expect(parseVerifyRequest({ ...VERIFY_BODY, agent_id: agentId }).agent_id).toBe(agentId);
    }
  });

  it("keeps every extension of an outcome", () => {
    const extensions = {
      id: "order-7",
      agent_fault: false,
      action: "payments.transfer",
      request_id: "0190-x",
    };
    const settledAt = "2026-03-01T12:00:00+01:00";
    expect(parseOutcomeRequest({ ...OUTCOME_BODY, ...extensions, settled_at: settledAt })).toEqual({
      ...OUTCOME_BODY,
      ...extensions,
      settled_at: Date.UTC(2026, 2, 1, 11),
    });
    expect(parseOutcomeRequest({ ...OUTCOME_BODY, settled_at: 5 }).settled_at).toBe(5);
  });

  it("reports all faults of a body together, up to a bound", () => {
    expect(errorsOf(parseHandshakeRequest, {})).toEqual([
      ["/initiator", "required"],
      ["/counterparty", "required"],
      ["/stakes", "required"],
    ]);
    const many = { ...VERIFY_BODY, context: { cited_sources: Array(64).fill(0) } };
    expect(errorsOf(parseVerifyRequest, many)).toHaveLength(FIELD_ERRORS_MAX);
  });
});

describe("verify batch", () => {
  it("answers per item, faults with their full pointer", () => {
    const items = parseVerifyBatch({ items: [VERIFY_BODY, { ...VERIFY_BODY, action: 1 }, 5] });
    expect(items[0]).toEqual(VERIFY_BODY);
    expect(items.slice(1)).toMatchObject([
      [{ pointer: "/items/1/action", code: "type" }],
      [{ pointer: "/items/2", code: "type" }],
    ]);
  });

  it.each([
    [{}, "/items", "required"],
    [{ items: {} }, "/items", "type"],
    [{ items: [] }, "/items", "length"],
    [{ items: Array(1001).fill(VERIFY_BODY) }, "/items", "length"],
    [[], "", "type"],
  ])("refuses a wrong envelope", (body, pointer, code) => {
    expect(errorsOf(parseVerifyBatch, body)).toEqual([[pointer, code]]);
  });

  it("takes a thousand items", () => {
    expect(parseVerifyBatch({ items: Array(1000).fill(VERIFY_BODY) })).toHaveLength(1000);
  });
});

describe("the hash of a content", () => {
  const texts = fc.string({ unit: "grapheme", maxLength: 40 });
  /** A hash with some of its digits in capitals. */
  const spelled = (text: string, capitals: number) =>
    hashOf(text).replaceAll(/(?<=:.*)[a-f]/g, (digit, at: number) =>
      (capitals >> (at % 31)) & 1 ? digit.toUpperCase() : digit,
    );
  const contextOf = (context: object) => parseVerifyRequest({ ...VERIFY_BODY, context }).context;

  it("is kept in lower case, in whatever case it came, alone or beside its content", () => {
    fc.assert(
      fc.property(texts, fc.nat(), (text, capitals) => {
        const content_hash = spelled(text, capitals);
        expect(contextOf({ content_hash })).toEqual({ content_hash: hashOf(text) });
        const both = contextOf({ content: text, content_hash });
        expect(both).toEqual({ content: text, content_hash: hashOf(text) });
        const record = { agent_id: "a", action: "a.b", cited_sources: [], content_hash };
        expect(parseProvenanceRecord(record).content_hash).toBe(hashOf(text));
        expect(parseEvidenceRequest({ sha256: content_hash }).sha256).toBe(hashOf(text));
      }),
    );
  });

  it("is refused beside any other content, at its place in a batch too", () => {
    fc.assert(
      fc.property(texts, texts, fc.nat(), (text, other, capitals) => {
        fc.pre(text !== other);
        const item = {
          ...VERIFY_BODY,
          context: { content: text, content_hash: spelled(other, capitals) },
        };
        expect(errorsOf(parseVerifyRequest, item)).toEqual([["/context/content_hash", "mismatch"]]);
        expect(parseVerifyBatch({ items: [VERIFY_BODY, item] })[1]).toMatchObject([
          { pointer: "/items/1/context/content_hash", code: "mismatch" },
        ]);
      }),
    );
  });
});

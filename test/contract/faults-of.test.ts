// The words and the order of faults: what each rule says, which fault of a value comes first, and
// how much a body of nonsense may cost.
import { describe, expect, it } from "vitest";
import { FIELD_ERROR_CODES, type FieldErrorCode, ServiceFault } from "../../src/contract/faults.ts";
import { FIELD_ERRORS_MAX } from "../../src/contract/limits.ts";
import * as requests from "../../src/contract/parse/requests.ts";
import { SCHEMAS } from "../../src/http/openapi/schemas.ts";
import { CHECK_BODY, OUTCOME_BODY, VERIFY_BODY } from "../http/_setup.ts";

function faultsOf(parse: (value: unknown) => unknown, value: unknown): string[] {
  try {
    parse(value);
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    return thrown.errors.map(({ pointer, code, detail }) => `${pointer} ${code}: ${detail}`);
  }
  return [];
}

const withContext = (context: object) => ({ ...VERIFY_BODY, context });
const SOURCE = { source_id: "a", text: "b" };

describe("a fault", () => {
  it.each([
    [requests.parseCheckRequest, 5, " type: must be an object"],
    [requests.parseCheckRequest, { subject: CHECK_BODY.subject }, "/stakes required: is required"],
    [
      requests.parseCheckRequest,
      { ...CHECK_BODY, stakes: -1 },
      "/stakes range: must be 0 to 1000000000000",
    ],
    [
      requests.parseCheckRequest,
      { ...CHECK_BODY, subject: "agent://a" },
      "/subject format: must be an agent identifier, `agent://namespace/name`",
    ],
    [
      requests.parseCheckRequest,
      { ...CHECK_BODY, subject: "" },
      "/subject format: must be `agent://namespace/name` or 1 to 512 bytes of text without control characters",
    ],
    [
      requests.parseOutcomeRequest,
      { ...OUTCOME_BODY, subject: "a\tb" },
      "/subject format: must be `agent://namespace/name` or 1 to 512 bytes of text without control characters",
    ],
    [
      requests.parseOutcomeRequest,
      { ...OUTCOME_BODY, reporter: "a" },
      "/reporter format: must be an agent identifier, `agent://namespace/name`",
    ],
    [
      requests.parseVerifyRequest,
      { ...VERIFY_BODY, tool_level: "L4" },
      "/tool_level enum: must be one of `L0`, `L1`, `L2`, `L3`",
    ],
    [
      requests.parseVerifyRequest,
      withContext({ cited_sources: Array(65).fill(0) }),
      "/context/cited_sources length: must hold at most 64 sources",
    ],
    [
      requests.parseVerifyRequest,
      withContext({ content: 1 }),
      "/context/content type: must be a string",
    ],
    [
      requests.parseVerifyRequest,
      withContext({ cited_sources: {} }),
      "/context/cited_sources type: must be an array",
    ],
    [
      requests.parseOutcomeRequest,
      { ...OUTCOME_BODY, outcome: 2 },
      "/outcome enum: must be 0 (failure) or 1 (success)",
    ],
    [
      requests.parseOutcomeRequest,
      { ...OUTCOME_BODY, id: "" },
      "/id length: must be 1 to 128 characters",
    ],
    [
      requests.parseKeyRequest,
      { tenant: "a", scopes: ["admin"], "a/b": 1 },
      "/a~1b unknown: is not a member of this request",
    ],
    [
      requests.parseKeyRequest,
      { tenant: "a", scopes: ["admin"], minimum_scores: { L9: 1 } },
      "/minimum_scores/L9 unknown: is not a tool level",
    ],
    [
      requests.parseEvidenceBatch,
      { items: [SOURCE, { source_id: "a" }] },
      "/items/1/sha256 required: is required without `text`",
    ],
    [
      requests.parseReporterKeyRequest,
      { jwk: {}, proof: "a", overlap_sec: -1 },
      "/overlap_sec range: must be 0 to 2592000 whole seconds",
    ],
    [
      requests.parseSignedOutcome,
      { body: "é".repeat(2049), signature: "a" },
      "/body length: must be at most 4096 bytes",
    ],
    [
      requests.parseKaizenRunRequest,
      { holdout_days: "7" },
      "/holdout_days range: must be a number of days from 1 to 365",
    ],
  ] as const)("says in words what is wrong: %#", (parse, value, saying) => {
    expect(faultsOf(parse, value)).toEqual([saying]);
  });

  it("comes in the order of the schema, unknown members first", () => {
    const body = { label: "", minimum_scores: 1, extra: 1 };
    expect(faultsOf(requests.parseKeyRequest, body).map((each) => each.split(":")[0])).toEqual([
      "/extra unknown",
      "/tenant required",
      "/scopes required",
      "/minimum_scores type",
      "/label length",
    ]);
  });

  it("is one of a bounded number, however many items are wrong", () => {
    const items = Array.from({ length: 1000 }, () => ({}));
    expect(faultsOf(requests.parseTextLabels, { items })).toHaveLength(FIELD_ERRORS_MAX);
  });
});

describe("a parsed request", () => {
  it("has the defaults of what was left out, and its own copies of them", () => {
    expect(requests.parseEvidenceRequest({ text: "a" })).toEqual({
      kind: "text/plain",
      title: "",
      text: "a",
      visibility: "tenant",
      state: "active",
    });
    expect(requests.parseQueryRequest({ sql: "a" }).format).toBe("json");
    const { context: _, ...bare } = VERIFY_BODY;
    const [first, second] = [bare, bare].map((body) => requests.parseVerifyRequest(body));
    expect(first!.context).toEqual({});
    expect(first!.context).not.toBe(second!.context);
  });
});

describe("the schema in documents", () => {
  it("holds no keyword of ours", () => {
    expect(JSON.stringify(SCHEMAS)).not.toContain('"~');
  });

  it.each([
    ["agent", "CheckRequest", "subject", "agent://a/b", "agent://a"],
    ["action", "OutcomeRequest", "action", "a.b", "a"],
    ["hash", "ProvenanceRecord", "content_hash", `sha256:${"a".repeat(64)}`, "sha256:a"],
  ])("shows a pattern of an %s that agrees with its check", (_name, schema, member, good, bad) => {
    const properties = SCHEMAS[schema]!["properties"] as Record<string, { pattern: string }>;
    const pattern = new RegExp(properties[member]!.pattern);
    expect([pattern.test(good), pattern.test(bad)]).toEqual([true, false]);
  });

  it("has a code of the table, whatever is wrong with a member", () => {
    const junk = [null, true, "", "a\u0000", "x".repeat(5000), -1, 0.5, 1e300, [], [1], {}];
    const parsers = Object.values(requests).filter((each) => each.length === 1);
    const codes = new Set<string>();
    for (const parse of parsers as ((value: unknown) => unknown)[]) {
      for (const schema of Object.values(SCHEMAS)) {
        for (const name of ["no_such_member", ...Object.keys(schema["properties"] ?? {})]) {
          for (const value of junk) {
            for (const fault of faultsOf(parse, { [name]: value }))
              codes.add(fault.split(/[ :]/)[1]!);
          }
        }
      }
    }
    expect(codes.size).toBeGreaterThan(4);
    expect(
      [...codes].filter((code) => !FIELD_ERROR_CODES.includes(code as FieldErrorCode)),
    ).toEqual([]);
  });
});

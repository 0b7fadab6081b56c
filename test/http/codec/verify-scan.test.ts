// The scan may only ever agree with the general parser: on sound bodies, on damaged ones, and on
// bodies whose members come twice, escaped or in another order. What it declines, and nothing else,
// its reference in plain JavaScript declines too.
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson } from "../../../src/contract/parse/json.ts";
import { parseVerifyRequest } from "../../../src/contract/parse/requests.ts";
import { BODY_BYTES_MAX, KEPT_BYTES_MAX, KEPT_SLOTS } from "../../../assembly/wire/layout.ts";
import { scanVerifyRequest } from "../../../src/http/codec/verify-scan.ts";
import { parsePlainVerify } from "../../reference/verify-plain.ts";

const PLAIN = {
  agent_id: "agent://acme/procurement-bot",
  action: "payments.transfer",
  tool_level: "L3",
  context: {
    content_hash: `sha256:${"ab".repeat(32)}`,
    cited_sources: ["doc:quarterly-report", "doc:price-list"],
    session_duration_sec: 318,
  },
  stakes: 250,
  levels: true,
};

function general(bytes: Buffer): unknown {
  try {
    return parseVerifyRequest(parseJson(bytes));
  } catch {
    return "refused";
  }
}

function expectAgreement(text: string | Buffer): boolean {
  const bytes = Buffer.from(text);
  const fast = scanVerifyRequest(bytes);
  expect(fast).toEqual(parsePlainVerify(bytes));
  if (fast === undefined) return false;
  expect(fast).toEqual(general(bytes));
  return true;
}

test("the body a gateway sends takes the fast path, compact or spaced", () => {
  expect(expectAgreement(JSON.stringify(PLAIN))).toBe(true);
  expect(expectAgreement(JSON.stringify(PLAIN, null, 2))).toBe(true);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, context: {} }))).toBe(true);
  const reversed = Object.fromEntries(Object.entries(PLAIN).toReversed());
  expect(expectAgreement(JSON.stringify(reversed))).toBe(true);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, levels: false }, null, 2))).toBe(true);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, levels: undefined }))).toBe(true);
});

test.each([
  ["a duplicate", JSON.stringify(PLAIN).replace("{", '{"action":"a.b",')],
  ["a duplicate inside", JSON.stringify(PLAIN).replace('"content_hash"', '"cited_sources":[],$&')],
  ["an escape", JSON.stringify(PLAIN).replace("acme", "ac\\u006de")],
  ["an escaped quote", JSON.stringify(PLAIN).replace("quarterly", 'quarterly\\"')],
  ["an unknown member", JSON.stringify({ ...PLAIN, extra: 1 })],
  ["content", JSON.stringify({ ...PLAIN, context: { content: "text" } })],
  ["a hash in capitals", JSON.stringify(PLAIN).replace("abab", "ABab")],
  ["levels that is no flag", JSON.stringify({ ...PLAIN, levels: 1 })],
  ["levels cut short", JSON.stringify(PLAIN).replace("true", "tru")],
  ["levels gone on", JSON.stringify(PLAIN).replace("true", "trues")],
  ["a fraction", JSON.stringify({ ...PLAIN, stakes: 2.5 })],
  ["an exponent", JSON.stringify(PLAIN).replace("250", "2e2")],
  ["a leading zero", JSON.stringify(PLAIN).replace("250", "0250")],
  ["a raw control character", JSON.stringify(PLAIN).replace("acme", "ac\u0001me")],
  ["text outside ASCII", JSON.stringify({ ...PLAIN, agent_id: "zürich" })],
  ["an agent that only reads like one", JSON.stringify({ ...PLAIN, agent_id: "AGENT://a/b" })],
  ["an agent with a dot segment", JSON.stringify({ ...PLAIN, agent_id: "agent://a/../b" })],
  ["a member missing", JSON.stringify({ ...PLAIN, action: undefined })],
  ["something after the end", `${JSON.stringify(PLAIN)}x`],
  ["a truncated body", JSON.stringify(PLAIN).slice(0, -1)],
  ["a trailing comma", JSON.stringify(PLAIN).replace(/\}$/, ",}")],
])("%s is declined", (_name, text) => {
  expect(expectAgreement(text)).toBe(false);
});

test("limits are the contract's: one more than allowed is declined", () => {
  const sources = (count: number) => ({
    ...PLAIN,
    context: { cited_sources: Array.from({ length: count }, (_, n) => `doc:${n}`) },
  });
  expect(expectAgreement(JSON.stringify(sources(64)))).toBe(true);
  expect(expectAgreement(JSON.stringify(sources(65)))).toBe(false);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, agent_id: "a".repeat(512) }))).toBe(true);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, agent_id: "a".repeat(513) }))).toBe(false);
  const action = `a.${"b".repeat(254)}`;
  expect(expectAgreement(JSON.stringify({ ...PLAIN, action }))).toBe(true);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, action: `${action}b` }))).toBe(false);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, stakes: 999_999_999 }))).toBe(true);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, stakes: 1_000_000_000 }))).toBe(false);
});

test("a body at the module's own limit is read, a longer one is left to the general parser", () => {
  const body = JSON.stringify(PLAIN);
  const padded = (length: number) => Buffer.from(body.padEnd(length));
  expect(scanVerifyRequest(padded(BODY_BYTES_MAX))).toEqual(PLAIN);
  expect(scanVerifyRequest(padded(BODY_BYTES_MAX + 1))).toBeUndefined();
});

test("what a longer body left behind is never read into a shorter one", () => {
  const body = Buffer.from(JSON.stringify(PLAIN));
  for (let length = 0; length < body.length; length += 1) {
    expect(scanVerifyRequest(body)).toEqual(PLAIN);
    expect(scanVerifyRequest(body.subarray(0, length))).toBeUndefined();
  }
});

test("on damaged bodies the two never disagree", () => {
  const sound = Buffer.from(JSON.stringify(PLAIN));
  const edit = fc.record({
    at: fc.nat(sound.length - 1),
    kind: fc.constantFrom("flip", "insert", "delete", "copy"),
    byte: fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('{}[]",:\\ 0123456789eE.-'))),
    length: fc.nat(40),
  });
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
      let bytes = sound;
      for (const { at, kind, byte, length } of edits) {
        const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
        if (kind === "insert") bytes = Buffer.concat([before, Buffer.from([byte]), after]);
        else if (kind === "delete") bytes = Buffer.concat([before, after.subarray(1)]);
        else if (kind === "copy") {
          bytes = Buffer.concat([before, bytes.subarray(at, at + length), after]);
        } else bytes = Buffer.concat([before, Buffer.from([byte]), after.subarray(1)]);
      }
      if (expectAgreement(bytes)) accepted++;
    }),
    { numRuns: 5000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

test("texts that were met before stay what they are, whoever takes their place", () => {
  // Three times as many texts as are kept, met again and again, twice in one body too.
  const name = fc.nat(3 * KEPT_SLOTS).map((n) => `doc:${n}`);
  const body = fc.record({ agent: name, action: name, sources: fc.array(name, { maxLength: 6 }) });
  fc.assert(
    fc.property(fc.array(body, { minLength: 50, maxLength: 200 }), (bodies) => {
      for (const { agent, action, sources } of [...bodies, ...bodies]) {
        const action_ = `a.${action.slice(4)}`;
        const context = { cited_sources: [...sources, agent, ...sources] };
        const request = { agent_id: agent, action: action_, tool_level: "L1", context };
        expect(expectAgreement(JSON.stringify(request))).toBe(true);
      }
    }),
    { numRuns: 20 },
  );
});

test("texts alike but for their end, around the length that is kept", () => {
  for (const length of [1, 7, 8, 9, 15, 16, 17, KEPT_BYTES_MAX - 1, KEPT_BYTES_MAX, 121, 512]) {
    for (const text of ["x".repeat(length), `${"x".repeat(length - 1)}y`, "x".repeat(length)]) {
      const context = { cited_sources: [text, text] };
      const request = { ...PLAIN, agent_id: text, context };
      for (let times = 0; times < 3; times += 1) {
        expect(expectAgreement(JSON.stringify(request))).toBe(true);
      }
    }
  }
});

test("a text that was kept as a source, or was refused before, is no agent by that", () => {
  const name = "agent:/kept/as-a-source";
  const context = { cited_sources: [name] };
  for (let turn = 0; turn < 3; turn += 1) {
    expect(expectAgreement(JSON.stringify({ ...PLAIN, agent_id: name, context }))).toBe(false);
    expect(expectAgreement(JSON.stringify({ ...PLAIN, context }))).toBe(true);
  }
});

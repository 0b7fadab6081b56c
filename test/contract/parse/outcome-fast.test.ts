// The fast path may only ever agree with the general parser: on sound outcomes of every shape, on
// damaged ones, alone and in arrays.
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson } from "../../../src/contract/parse/json.ts";
import {
  tryParsePlainOutcome,
  tryParsePlainOutcomes,
} from "../../../src/contract/parse/outcome-fast.ts";
import { parseOutcomeRequest } from "../../../src/contract/parse/requests.ts";
import { GRADES } from "../../../src/contract/vocabulary.ts";

const PLAIN = {
  subject: "agent://market/seller-7",
  reporter: "agent://shop/buyer",
  outcome: 1,
  stakes: 12.5,
  grade: "counterparty",
  id: "order:4711",
  settled_at: "2026-03-01T11:00:00Z",
  agent_fault: true,
  action: "payments.transfer",
  request_id: "req-1",
};
const TEXT = JSON.stringify(PLAIN);

const manyOf = (count: number) => JSON.stringify(Array.from({ length: count }, () => PLAIN));

function general(bytes: Buffer): unknown {
  try {
    const value = parseJson(bytes);
    return Array.isArray(value) ? value.map(parseOutcomeRequest) : parseOutcomeRequest(value);
  } catch {
    return "refused";
  }
}

function expectAgreement(text: string | Buffer): boolean {
  const bytes = Buffer.from(text);
  const fast = tryParsePlainOutcome(bytes) ?? tryParsePlainOutcomes(bytes);
  if (fast === undefined) return false;
  expect(fast).toEqual(general(bytes));
  return true;
}

test("what a client sends takes the fast path, compact or spaced, alone or in an array", () => {
  expect(expectAgreement(TEXT)).toBe(true);
  expect(expectAgreement(JSON.stringify(PLAIN, null, 2))).toBe(true);
  expect(expectAgreement(`[${TEXT}]`)).toBe(true);
  expect(expectAgreement(manyOf(1000))).toBe(true);
  const reversed = Object.fromEntries(Object.entries(PLAIN).toReversed());
  expect(expectAgreement(` ${JSON.stringify(reversed)}\n`)).toBe(true);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, settled_at: 1_767_225_600_000 }))).toBe(true);
  expect(expectAgreement(JSON.stringify({ ...PLAIN, agent_fault: false, outcome: 0 }))).toBe(true);
});

test("numbers are what JSON.parse makes of them", () => {
  const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?$/);
  fc.assert(
    fc.property(digits, (number) => {
      const text = TEXT.replace("12.5", number);
      const isTaken = expectAgreement(text);
      if (!isTaken) expect(number.replace(".", "").length).toBeGreaterThan(15);
    }),
    { numRuns: 2000 },
  );
  expect(expectAgreement(TEXT.replace("12.5", "0.1"))).toBe(true);
});

test.each([
  ["a duplicate", TEXT.replace("{", '{"grade":"self",')],
  ["an escape", TEXT.replace("seller", "sell\\u0065r")],
  ["an unknown member", JSON.stringify({ ...PLAIN, extra: 1 })],
  ["an inherited name", TEXT.replace('"action"', '"toString"')],
  ["an exponent", TEXT.replace("12.5", "1e3")],
  ["a negative number", TEXT.replace("12.5", "-1")],
  ["a leading zero", TEXT.replace("12.5", "012.5")],
  ["a bare point", TEXT.replace("12.5", "12.")],
  ["two points", TEXT.replace("12.5", "1.2.5")],
  ["too large stakes", TEXT.replace("12.5", "1000000000001")],
  ["an outcome of 1.0", TEXT.replace('"outcome":1', '"outcome":1.0')],
  ["an outcome of 01", TEXT.replace('"outcome":1', '"outcome":01')],
  ["an outcome of 2", TEXT.replace('"outcome":1', '"outcome":2')],
  ["a raw control character", TEXT.replace("seller", "sell\u0001er")],
  ["text outside ASCII", TEXT.replace("seller", "séller")],
  ["a zero byte at the end", `${TEXT}\0`],
  ["something after the end", `${TEXT}x`],
  ["a truncated body", TEXT.slice(0, -1)],
  ["a trailing comma", TEXT.replace(/\}$/, ",}")],
  ["a member missing", JSON.stringify({ ...PLAIN, grade: undefined })],
  ["a day that is none", TEXT.replace("03-01", "02-30")],
  ["a time as a fraction", TEXT.replace('"2026-03-01T11:00:00Z"', "1767225600000.5")],
  ["an empty array", "[]"],
  ["an array with a comma too many", `[${TEXT},]`],
  ["1,001 rows", manyOf(1001)],
])("%s is declined", (_name, text) => {
  expect(tryParsePlainOutcome(Buffer.from(text))).toBeUndefined();
  expect(tryParsePlainOutcomes(Buffer.from(text))).toBeUndefined();
});

test("on generated and damaged bodies the two never disagree", () => {
  const segment = fc.stringMatching(/^[A-Za-z0-9._~-]{1,12}$/);
  const agent = fc.tuple(segment, segment).map(([space, name]) => `agent://${space}/${name}`);
  const outcome = fc.record(
    {
      subject: agent,
      reporter: agent,
      outcome: fc.constantFrom(0, 1),
      stakes: fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e12, noNaN: true })),
      grade: fc.constantFrom(...GRADES),
      id: segment,
      settled_at: fc.oneof(fc.nat(), fc.constant("2026-02-28T23:59:60Z"), fc.constant(PLAIN.id)),
      agent_fault: fc.boolean(),
      action: fc.constantFrom("a.b", "a", "pay.card.refund"),
      request_id: segment,
    },
    { requiredKeys: ["subject", "reporter", "outcome", "stakes", "grade"] },
  );
  const edit = fc.record({
    at: fc.nat(),
    kind: fc.constantFrom("flip", "insert", "delete"),
    byte: fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('{}[]",:\\ 0123456789eE.-'))),
  });
  let accepted = 0;
  fc.assert(
    fc.property(
      fc.array(outcome, { minLength: 1, maxLength: 4 }),
      fc.array(edit),
      (rows, edits) => {
        let sound = Buffer.from(JSON.stringify(rows.length === 1 ? rows[0] : rows));
        if (expectAgreement(sound)) accepted += 1;
        for (const { at, kind, byte } of edits.slice(0, 3)) {
          const [before, after] = [
            sound.subarray(0, at % sound.length),
            sound.subarray(at % sound.length),
          ];
          if (kind === "insert") sound = Buffer.concat([before, Buffer.of(byte), after]);
          else if (kind === "delete") sound = Buffer.concat([before, after.subarray(1)]);
          else sound = Buffer.concat([before, Buffer.of(byte), after.subarray(1)]);
          if (sound.length === 0) return;
          expectAgreement(sound);
        }
      },
    ),
    { numRuns: 3000 },
  );
  expect(accepted).toBeGreaterThan(200);
});

test("a subject that is plain text is what the general parser makes of it", () => {
  const piece = fc.constantFrom(
    "agent://",
    "agent:/",
    "plain:",
    "bot",
    "/",
    " ",
    "é",
    "\\",
    "\n",
    "",
  );
  const subject = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(""));
  const taken = new Set<string>();
  fc.assert(
    fc.property(subject, fc.constantFrom("subject", "reporter"), (text, member) => {
      if (expectAgreement(JSON.stringify({ ...PLAIN, [member]: text }))) taken.add(text);
    }),
    { numRuns: 3000 },
  );
  expect(taken).toContain("bot");
  expect(taken).not.toContain("agent://bot");
});

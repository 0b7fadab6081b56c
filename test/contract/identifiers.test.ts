// Identifiers, actions, hashes, tokens and times: what is taken, what is not, and that nothing is
// normalised on the way.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isFormedAgent, isSoundName } from "../reference/agent-names.ts";
import {
  describeScoredIdFault,
  encodeAgentKey,
  decodeAgentKey,
  isAction,
  isAgentId,
  isContentHash,
  isPlainText,
  isScoredId,
  isToken,
  extractKeyNamespace,
  parseAgentId,
} from "../../src/contract/identifiers.ts";
import { isEpochMs, parseDateTimeMs } from "../../src/contract/timestamps.ts";

const SEGMENT = "(?!\\.{1,2}(/|$))[A-Za-z0-9._~-]{1,128}";
const AGENT = new RegExp(`^agent://${SEGMENT}(/${SEGMENT})+$`);

describe("agent identifiers", () => {
  it.each([
    "agent://ns/name",
    "agent://otc/1",
    "agent://a/b/c/d",
    "agent://A.b_c~d-e/9",
    `agent://${"n".repeat(128)}/${"m".repeat(128)}`,
  ])("takes %s as it is", (id) => {
    expect(parseAgentId(id)).toBe(id);
  });

  it.each([
    "",
    "agent://",
    "agent:///name",
    "agent://ns",
    "agent://ns/",
    "agent://ns//name",
    "agent://ns/name/",
    "agent://../name",
    "agent://ns/./name",
    "agent://ns/name/..",
    "AGENT://ns/name",
    "agent:/ns/name",
    " agent://ns/name",
    "agent://ns/name ",
    "agent://ns/na me",
    "agent://ns/näme",
    "agent://ns/name?x",
    "agent://ns/name#x",
    "agent://ns/%41",
    "agent://ns/name\n",
    "agent://ns/name\0",
    "agent://user@ns/name",
    "agent://ns:80/name",
    "https://ns/name",
    `agent://ns/${"m".repeat(129)}`,
    `agent://${"n".repeat(129)}/name`,
    `agent://ns/${"m".repeat(128)}/${"m".repeat(128)}/${"m".repeat(128)}/${"m".repeat(128)}`,
    1,
    null,
    undefined,
    ["agent://ns/name"],
  ])("refuses %j", (id) => {
    expect(isAgentId(id)).toBe(false);
  });

  it("agrees with the regular expression of the contract", () => {
    const piece = fc.constantFrom(
      "agent://",
      "ns",
      "/",
      "a",
      ".",
      "..",
      "~",
      "é",
      " ",
      "%",
      "x".repeat(127),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join("");
        expect(isAgentId(text)).toBe(AGENT.test(text) && Buffer.byteLength(text) <= 512);
        expect(isAgentId(text)).toBe(isFormedAgent(text));
      }),
      { numRuns: 5000 },
    );
  });
});

describe("plain names", () => {
  it("counts bytes, not characters", () => {
    expect(isPlainText("é".repeat(256), 512)).toBe(true);
    expect(isPlainText("é".repeat(257), 512)).toBe(false);
    expect(isPlainText("x".repeat(512), 512)).toBe(true);
    expect(isPlainText("x".repeat(513), 512)).toBe(false);
  });

  it.each(["", "a\0", "a\nb", "\u007f", "\u0085", "\u009f", "\ud800", "a\udc00", 5, null])(
    "refuses %j",
    (value) => {
      expect(isPlainText(value, 512)).toBe(false);
    },
  );
});

describe("scored agents", () => {
  it.each(["support-bot", "bot 7", " padded ", "Zoë 🤖", "plain:x", "urn:x:1", "agents:/x", "é"])(
    "may be named %s",
    (id) => {
      expect(isScoredId(id)).toBe(true);
      expect(extractKeyNamespace(encodeAgentKey(id))).toBe("plain:");
    },
  );

  it.each([
    "",
    "agent://",
    "agent://x",
    "agent://a/b c",
    "a\n",
    "\ud800",
    "x".repeat(513),
    5,
    null,
  ])("may not be named %j", (id) => {
    expect(isScoredId(id)).toBe(false);
  });

  it("have names of their own in journal and table, and get the wire's name back", () => {
    const piece = fc.constantFrom("agent://", "plain:", "a", "/", "b", "ns/x", "é", " ");
    const id = fc.oneof(
      fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join("")),
      fc.string({ unit: "binary", minLength: 1 }),
    );
    fc.assert(
      fc.property(id, id, (first, second) => {
        expect(encodeAgentKey(first) === encodeAgentKey(second)).toBe(first === second);
        expect(decodeAgentKey(encodeAgentKey(first))).toBe(first);
        if (isAgentId(first)) expect(encodeAgentKey(first)).toBe(first);
        else if (isScoredId(first)) expect(isAgentId(encodeAgentKey(first))).toBe(false);
      }),
      { numRuns: 5000 },
    );
    expect(extractKeyNamespace("agent://acme/x/y")).toBe("acme");
    expect(extractKeyNamespace("neither")).toBeUndefined();
  });
});

describe("what reads like an agent identifier", () => {
  it("is that of the reference, which folds every text as a whole", () => {
    const piece = fc.constantFrom(
      ..."agentAGENT:/ %".split(""),
      "%61",
      "%3a",
      "%2F",
      "%20",
      "%25",
      "%ef%bd%81",
      "%ff",
      "%6",
      "agent://",
      "agent:",
      "b/c",

      "\uff21",
      "\uff1a",
      "\u00a0",
      "\u200b",
      "\u00ad",
      "\u0301",
      "\ufeff",
      "é",
      "..",
      "\u{1d41a}",
    );
    const begun = fc.tuple(
      fc.constantFrom("", "a", "ag", "agent", "AGENT:", " agen"),
      fc.array(piece, { maxLength: 6 }),
    );
    fc.assert(
      fc.property(begun, ([begin, pieces]) => {
        const text = begin + pieces.join("");
        expect(isScoredId(text)).toBe(isSoundName(text));
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ["AGENT://shop/buyer", "agent://shop/buyer"],
    ["agent:/shop/Buyer", "agent://shop/Buyer"],
    ["\u00a0\uff41gent:shop/buyer ", "agent://shop/buyer"],
    ["agent%3A%2F%2Fshop%2Fbuyer", "agent://shop/buyer"],
  ])("%j may stand for %s", (text, meant) => {
    expect(describeScoredIdFault(text)).toContain(`meant may be \`${meant}\``);
  });

  it("stands for nothing where a path would have to be resolved, or was encoded twice", () => {
    expect(describeScoredIdFault("agent://a/../b")).not.toContain("meant");
    expect(isScoredId("agent%253A%252F%252Fa%252Fb")).toBe(true);
  });
});

describe("other forms", () => {
  it.each(["payments.transfer", "a.b", "kb.query_all.v-2"])("takes the action %s", (action) => {
    expect(isAction(action)).toBe(true);
  });

  it.each(["", "payments", ".b", "a.", "a..b", "a b.c", "ä.b", "a.b\n", "a/b.c", 1, null])(
    "refuses the action %j",
    (action) => {
      expect(isAction(action)).toBe(false);
    },
  );

  it("takes exactly sha256, its digits in either case", () => {
    const digest = "0123456789abcdef".repeat(4);
    expect(isContentHash(`sha256:${digest}`)).toBe(true);
    expect(isContentHash(`sha256:${digest.toUpperCase()}`)).toBe(true);
    expect(isContentHash(`sha256:${digest.replaceAll("b", "B")}`)).toBe(true);
    for (const wrong of [
      digest,
      `sha256:${digest}0`,
      `sha256:${digest.slice(1)}`,
      `SHA256:${digest}`,
      `sha512:${digest}`,
      ...Array.from("g@`G/:[{\u0130", (last) => `sha256:${digest.slice(1)}${last}`),
      `sha256:${digest}\n`,
      7,
    ]) {
      expect(isContentHash(wrong)).toBe(false);
    }
  });

  it("takes tokens that are safe in a header", () => {
    expect(isToken("0190-abc._~:/+=@")).toBe(true);
    for (const wrong of ["", "a b", "a\r\nb", 'a"', "é", "x".repeat(129), "a,b", 1]) {
      expect(isToken(wrong)).toBe(false);
    }
  });
});

describe("RFC 3339 times", () => {
  it.each([
    ["1970-01-01T00:00:00Z", 0],
    ["2026-03-01T12:00:00Z", Date.UTC(2026, 2, 1, 12)],
    ["2026-03-01t12:00:00.5z", Date.UTC(2026, 2, 1, 12) + 500],
    ["2026-03-01T12:00:00.123456789+02:30", Date.UTC(2026, 2, 1, 9, 30) + 123],
    ["2026-03-01T00:30:00-01:00", Date.UTC(2026, 2, 1, 1, 30)],
    ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
    ["2016-12-31T23:59:60Z", Date.UTC(2017, 0, 1)],
    ["2017-01-01T00:59:60+01:00", Date.UTC(2017, 0, 1)],
  ])("reads %s", (text, timeMs) => {
    expect(parseDateTimeMs(text)).toBe(timeMs);
  });

  it.each([
    "",
    "2026-03-01",
    "2026-03-01T12:00:00",
    "2026-03-01 12:00:00Z",
    "2026-3-1T12:00:00Z",
    "2026-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T12:00:60Z",
    "2026-01-01T00:00:61Z",
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00+24:00",
    "2026-01-01T00:00:00+0100",
    "+002026-01-01T00:00:00Z",
    "2026-01-01T00:00:00Z ",
    "1767225600000",
  ])("refuses %j", (text) => {
    expect(parseDateTimeMs(text)).toBeUndefined();
  });

  it("reads back what a Date prints", () => {
    const year9999 = Date.UTC(9999, 11, 31);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: year9999 }), (timeMs) => {
        expect(parseDateTimeMs(new Date(timeMs).toISOString())).toBe(timeMs);
      }),
    );
  });

  it("knows an epoch millisecond", () => {
    expect([0, 1.5, -1, Number.NaN, 9e15, "0", 1e15].map(isEpochMs)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
      true,
    ]);
  });
});

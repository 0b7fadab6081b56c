// Representations: request ids, negotiated formats, hand-written JSON.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { VerifyResponse } from "../../../src/contract/schemas/scores.ts";
import * as words from "../../../src/contract/vocabulary.ts";
import { parseBodyFormat, negotiateReplyFormat } from "../../../src/http/codec/negotiation.ts";
import {
  selectEchoedRequestId,
  RequestIdGenerator,
  writeRequestId,
} from "../../../src/http/codec/request-id.ts";
import { formatCheckJson, formatHandshakeJson } from "../../../src/http/codec/verdict-writer.ts";
import { encodeVerifyJson } from "../../../src/http/codec/verify-writer.ts";
import { START_MS } from "../_setup.ts";

describe("request ids", () => {
  it("are UUIDv7: the time first, never the same twice", () => {
    let nowMs = START_MS;
    const ids = new RequestIdGenerator(() => nowMs);
    const made = Array.from({ length: 5000 }, () => ids.next());
    expect(new Set(made).size).toBe(5000);
    for (const id of made) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    const time = Number.parseInt(made[0]!.replaceAll("-", "").slice(0, 12), 16);
    expect(time).toBe(START_MS);
    nowMs += 1;
    expect(ids.next() > made[4999]!).toBe(true);
  });

  it("grow within a millisecond, past every carry, and when the clock is set back", () => {
    let nowMs = START_MS;
    const ids = new RequestIdGenerator(() => nowMs);
    const outOfOrder: string[] = [];
    let last = ids.next();
    for (let count = 0; count < 150_000; count += 1) {
      if (count === 140_000) nowMs -= 3_600_000;
      const id = ids.next();
      if (id <= last || id.length !== 36) outOfOrder.push(`${id} after ${last}`);
      last = id;
    }
    expect(outOfOrder).toEqual([]);
  });

  it("are written as their text, whether made last, before, by another or by the caller", () => {
    let nowMs = START_MS;
    const [mine, others] = [
      new RequestIdGenerator(() => nowMs),
      new RequestIdGenerator(() => nowMs),
    ];
    const written = (id: string) => {
      const bytes = Buffer.alloc(200, 0x2e);
      const length = writeRequestId(id, bytes, 3);
      return bytes.toString("latin1", 3, 3 + length);
    };
    const made: string[] = [];
    for (let count = 0; count < 400; count += 1) {
      if (count % 100 === 99) nowMs += 1;
      made.push(count % 3 === 0 ? others.next() : mine.next());
      expect(written(made.at(-1)!)).toBe(made.at(-1));
      expect(written(made[count >> 1]!)).toBe(made[count >> 1]);
    }
    expect(written("the-caller.s-own")).toBe("the-caller.s-own");
    for (const id of [undefined, "", "has space", "x".repeat(129)])
      expect(selectEchoedRequestId(id, "own")).toBe("own");
    expect(selectEchoedRequestId("the-caller.s-own", "own")).toBe("the-caller.s-own");
    expect(written("")).toBe("");
  });
});

describe("negotiation", () => {
  it.each([
    [undefined, "json"],
    ["", "json"],
    ["*/*", "json"],
    ["application/*", "json"],
    ["application/json", "json"],
    ["application/msgpack", "msgpack"],
    ["application/msgpack, */*;q=0.1", "msgpack"],
    ["application/msgpack;q=0.5, application/json", "json"],
    ["application/msgpack;q=0.5, application/json;q=0.4", "msgpack"],
    ["application/json;q=0, */*", "msgpack"],
    ["text/html,application/xhtml+xml,*/*;q=0.8", "json"],
    ["APPLICATION/JSON ; Q=1", "json"],
    ["application/json; charset=utf-8", "json"],
    ['application/msgpack; version="1,2"; q=0.9, application/json; q=0.8', "msgpack"],
    ["application/msgpack, */*", "msgpack"],
    ["application/msgpack, application/json", "msgpack"],
    ["application/json, application/msgpack", "json"],
    ["application/json;q=2, application/msgpack;q=0.1", "msgpack"],
    [",, application/msgpack ,", "msgpack"],
  ])("Accept: %s gives %s", (accept, format) => {
    expect(negotiateReplyFormat(accept)).toBe(format);
  });

  it.each([
    "text/html",
    "application/json;q=0",
    "application/json;q=2",
    "nonsense",
    "a,".repeat(500),
  ])("Accept: %s is not acceptable", (accept) => {
    expect(() => negotiateReplyFormat(accept)).toThrow(/not_acceptable/);
  });

  it.each([
    ["application/json", "json"],
    ["application/json;charset=utf-8", "json"],
    ['application/json; charset="UTF-8"', "json"],
    ["application/msgpack", "msgpack"],
    ["application/x-msgpack", "msgpack"],
  ])("Content-Type: %s is %s", (type, format) => {
    expect(parseBodyFormat(type)).toBe(format);
  });

  it.each([undefined, "", "text/json", "application/json; charset=latin1", "application/jsonx"])(
    "Content-Type: %s is not supported",
    (type) => {
      expect(() => parseBodyFormat(type)).toThrow(/unsupported_media_type/);
    },
  );
});

describe("hand-written verdicts", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom('"', "\\", "\u2028", "é"));
  const number = fc.oneof(fc.double(), fc.integer(), fc.constant(-0));
  const word = <Word extends string>(values: readonly Word[]) => fc.constantFrom(...values);
  const optional = <Value>(name: string, value: fc.Arbitrary<Value>) =>
    fc.option(value).map((given) => (given === null ? {} : { [name]: given }));
  const regime = optional("regime", word(words.REGIMES));
  // What the writer wraps without looking: tokens, labels and times.
  const token = fc.stringMatching(/^[A-Za-z0-9._~:/+=@-]{1,40}$/);
  const label = fc.stringMatching(/^[A-Z0-9_]{1,30}$/);
  const stamp = fc.record({
    request_id: token,
    config_version: token,
    evaluated_at: token,
    expires_at: token,
  });
  const stakesOrNull = fc.option(number);
  const leg = fc
    .tuple(
      fc.record({ subject: text, effective_score: number, tier: word(words.TIERS) }),
      regime,
      fc.record({
        decision: word(words.DECISIONS),
        reasons: fc.array(text),
        reason_codes: fc.array(word(words.REASON_CODES)),
        max_stakes: stakesOrNull,
        tool_level_max: word(words.TOOL_LEVELS),
      }),
    )
    .map(([first, second, third]) => Object.assign({}, first, second, third));

  it("are byte for byte what JSON.stringify writes", () => {
    const verify = fc
      .tuple(
        stamp,
        text,
        fc.boolean(),
        number,
        regime,
        optional("sources", fc.constant([{ id: 'a"b', status: "verified" }])),
        word(words.VERDICTS),
        fc.array(label),
        stakesOrNull,
        optional(
          "levels",
          fc
            .record({ verdict: word(words.VERDICTS), holds_to: stakesOrNull })
            .map((L2) => ({ L2 })),
        ),
      )
      .map(
        ([
          stamped,
          reason,
          flag,
          score,
          regimeMember,
          sources,
          verdict,
          codes,
          stakes,
          levels,
        ]) => ({
          request_id: stamped.request_id,
          trust_evaluation: {
            score,
            threshold_met: flag,
            risk_level: "HIGH",
            internal_score: score,
            tier: "REVIEW",
            ...regimeMember,
            confidence: score,
          },
          provenance_data: { is_hallucinated: flag, source_verified: !flag, reason, ...sources },
          policy_action: { verdict, log_reason: codes[0] ?? "LABEL" },
          reason_codes: codes,
          max_stakes: stakes,
          enforced: flag,
          config_version: stamped.config_version,
          policy_version: "p-0123456789abcdef",
          evaluated_at: stamped.evaluated_at,
          expires_at: stamped.expires_at,
          ...levels,
        }),
      );
    const check = fc
      .tuple(leg, stamp, number, fc.boolean(), fc.boolean())
      .map(([first, second, stakes, allowed, enforced]) =>
        Object.assign({}, first, second, { stakes, allowed, enforced }),
      );
    const handshake = fc
      .tuple(text, number, leg, leg, stamp, fc.boolean(), fc.array(text))
      .map(([agent, stakes, aToB, bToA, stamped, connected, reasons]) =>
        Object.assign(
          {
            initiator: agent,
            counterparty: agent,
            stakes,
            a_to_b: aToB,
            b_to_a: bToA,
            decision: aToB.decision,
            connected,
            reasons,
            enforced: !connected,
          },
          stamped,
        ),
      );
    fc.assert(
      fc.property(verify, (value) => {
        // Again and again: what was met before is written from pieces kept.
        for (let times = 0; times < 3; times += 1) {
          const bytes = encodeVerifyJson(value as VerifyResponse);
          expect(Buffer.from(bytes).toString()).toBe(JSON.stringify(value));
        }
      }),
    );
    fc.assert(
      fc.property(check, (value) => {
        expect(formatCheckJson(value)).toBe(JSON.stringify(value));
      }),
    );
    fc.assert(
      fc.property(handshake, (value) => {
        expect(formatHandshakeJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });
});

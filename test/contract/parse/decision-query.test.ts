// Queries of the decision log: what is taken, what is refused and how, places that come back as they
// were given.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DECISION_LEGS } from "../../../src/contract/decisions.ts";
import {
  parseDecisionQuery,
  formatDecisionCursor,
} from "../../../src/contract/parse/decision-query.ts";

const parse = (text: string) => parseDecisionQuery(new URLSearchParams(text));

describe("a query of decisions", () => {
  it("holds only what it was given", () => {
    expect(parse("")).toEqual({});
    expect(parse("limit=4&other=x")).toEqual({});
    expect(
      parse("verdict=BLOCK&effective=deny&kind=verify&level=L3&flagged=true&shadow=false"),
    ).toEqual({
      verdict: "BLOCK",
      effective: "deny",
      kind: "verify",
      level: "L3",
      isFlagged: true,
      isShadow: false,
    });
    expect(
      parse("agent=agent://a/b&subject=agent://c/d&reason=THIN_FILE&config=c-1&tenant=acme"),
    ).toEqual({
      agent: "agent://a/b",
      subject: "agent://c/d",
      reason: "THIN_FILE",
      config: "c-1",
      ofTenant: "acme",
    });
    expect(parse("since=2026-03-01&before=1772366400000")).toEqual({
      sinceMs: Date.UTC(2026, 2, 1),
      before: { evaluatedMs: 1_772_366_400_000 },
    });
  });

  it.each([
    ["verdict=block", "`verdict` must be one of `ALLOW`, `CHALLENGE`, `QUARANTINE`, `BLOCK`"],
    ["decision=", "`decision` must be one of"],
    ["effective=no", "`effective` must be one of `allow`, `deny`"],
    ["disposition=deny", "`disposition` must be one of `allow`, `step_up`, `person`, `refuse`"],
    ["kind=gateway", "`kind` must be one of `verify`, `check`, `handshake`"],
    ["level=L4", "`level` must be one of `L0`, `L1`, `L2`, `L3`"],
    ["flagged=1", "`flagged` must be one of `true`, `false`"],
    ["shadow=yes", "`shadow` must be one of `true`, `false`"],
    ["since=yesterday", "`since` must be a date, an RFC 3339 date-time or epoch milliseconds"],
    [
      "before=soon",
      "`before` must be a date, an RFC 3339 date-time or epoch milliseconds, or `next`",
    ],
    ["before=17~2~r", "`before` must be a date"],
    ["before=17~0~r%20r", "`before` is no `next` of a page"],
    ["before=17~0~", "`before` must be a date"],
    ["reason=", "`reason` must be 1 to 64 bytes"],
    [`config=${"x".repeat(65)}`, "`config` must be 1 to 64 bytes"],
    [`subject=${"é".repeat(257)}`, "`subject` must be 1 to 512 bytes"],
  ])("is refused: %s", (query, detail) => {
    expect(() => parse(query)).toThrow(
      expect.objectContaining({
        code: "invalid_parameter",
        detail: expect.stringContaining(detail) as string,
      }),
    );
  });

  it("takes a place as it was written", () => {
    const ids = fc.stringMatching(/^[A-Za-z0-9._~:/+=@-]{1,128}$/);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 999_999_999_999_999 }),
        fc.constantFrom(...DECISION_LEGS),
        ids,
        (evaluatedMs, leg, requestId) => {
          const before = encodeURIComponent(formatDecisionCursor({ evaluatedMs, leg, requestId }));
          expect(parse(`before=${before}`).before).toEqual({ evaluatedMs, leg, requestId });
        },
      ),
    );
  });

  it("never fails otherwise, whatever stands in it", () => {
    const names = fc.constantFrom("before", "since", "verdict", "flagged", "reason", "tenant");
    fc.assert(
      fc.property(names, fc.string({ unit: "binary", maxLength: 200 }), (name, text) => {
        try {
          parseDecisionQuery(new URLSearchParams([[name, text]]));
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_parameter" });
        }
      }),
    );
  });
});

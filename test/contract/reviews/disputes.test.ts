// Disputes as they may be worded, and their count of a day: any text of a person, nothing that hides, and
// a count that a book made from its own list goes on with.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceFault } from "../../../src/contract/faults.ts";
import { parseDispute, parseDisputeForm } from "../../../src/contract/parse/reviews.ts";
import { ReviewBook } from "../../../src/contract/reviews/book.ts";
import { type Dispute, deriveDisputeId } from "../../../src/contract/reviews/disputes.ts";
import {
  isReviewId,
  formatReviewDay,
  type ReviewOpenedEvent,
} from "../../../src/contract/reviews/events.ts";

const START_MS = Date.UTC(2026, 0, 1, 12);
const DAY_MS = 86_400_000;
const AGENT = "agent://a/b";

describe("a statement", () => {
  it("is any text of 1 to 1,000 characters, and comes out as it went in", () => {
    const text = fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 300 })
      .filter((value) => value.trim() !== "" && Array.from(value).length <= 1000);
    fc.assert(
      fc.property(text, (statement) => {
        expect(parseDispute({ agent: AGENT, statement }).statement).toBe(statement);
      }),
    );
  });

  it("never holds a control character but line breaks and tabs, from a form neither", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 20 }), (statement) => {
        let taken: string | undefined;
        try {
          taken = parseDispute({ agent: AGENT, statement }).statement;
        } catch (fault) {
          expect(fault).toBeInstanceOf(ServiceFault);
        }
        // oxlint-disable-next-line no-control-regex
        expect(taken ?? "").not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      }),
    );
    const form = new URLSearchParams({ link: "l", decision: "", statement: "a\r\nb", contact: "" });
    expect(parseDisputeForm(form.toString())).toEqual({ link: "l", statement: "a\nb" });
    expect(() => parseDisputeForm("link=l&statement=a%00b")).toThrow(/control characters/);
    expect(() => parseDisputeForm("statement=a")).toThrow(/agent/);
  });
});

describe("the count of a day", () => {
  const said: Dispute = {
    statement: "x",
    contact: null,
    request_id: null,
    actor: "k",
    by_link: false,
  };
  const opened = (tenant: string, agent: string, atMs: number, nth: number): ReviewOpenedEvent => {
    const key = { tenant, agent, level: "L2", day: formatReviewDay(atMs), round: 0 } as const;
    const first = { first_request_id: "r", first_stakes: 0, first_ms: atMs };
    const last = { last_request_id: "r", last_stakes: 0, last_ms: atMs, stakes_max: 0 };
    const id = deriveDisputeId(key, nth);
    const counts = { reason: "", count: 1, ...first, ...last };
    return { event: "review.opened", at_ms: atMs, ...key, id, ...counts, dispute: said };
  };

  it("is by tenant and by agent, starts anew with the day, and survives a snapshot", () => {
    const book = new ReviewBook();
    for (let nth = 0; nth < 3; nth += 1) book.apply(opened("acme", AGENT, START_MS, nth));
    book.apply(opened("acme", "agent://a/c", START_MS, 0));
    book.apply(opened("globex", AGENT, START_MS, 0));
    const ids = [...book.listReviews()].map(({ id }) => id);
    expect([new Set(ids).size, ids.every(isReviewId)]).toEqual([5, true]);
    const restored = new ReviewBook(JSON.parse(JSON.stringify([...book.listReviews()])));
    for (const each of [book, restored]) {
      const today = formatReviewDay(START_MS);
      expect(each.countDisputes(today, "acme", AGENT)).toEqual({ ofTenant: 4, ofAgent: 3 });
      expect(each.countDisputes(today, "globex", AGENT)).toEqual({ ofTenant: 1, ofAgent: 1 });
      const next = formatReviewDay(START_MS + DAY_MS);
      expect(each.countDisputes(next, "acme", AGENT)).toEqual({ ofTenant: 0, ofAgent: 0 });
      each.apply(opened("acme", AGENT, START_MS + DAY_MS, 0));
      expect(each.countDisputes(next, "acme", AGENT)).toEqual({ ofTenant: 1, ofAgent: 1 });
    }
  });
});

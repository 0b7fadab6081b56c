// The book of conditions: against a list that is searched, over any events; across a copy; and at earlier times.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AgentConditions,
  ConditionBook,
  isCoveredBy,
} from "../../../src/contract/conditions/book.ts";
import type { Condition, ConditionEvent } from "../../../src/contract/conditions/events.ts";

const SUBJECTS = [
  "agent://a/x",
  "agent://a/b/x",
  "agent://a/*",
  "agent://a/b/*",
  "agent://ab/*",
  "plain",
];
const AGENTS = [
  "agent://a/x",
  "agent://a/b/x",
  "agent://a/b/c/x",
  "agent://ab/x",
  "agent://c/x",
  "plain",
];
const TENANTS = ["t", "u"];
const REASON = { code: "r", text: null };

const anyCondition: fc.Arbitrary<Condition> = fc.record({
  state: fc.constantFrom("suspended", "watch", "cleared"),
  levels: fc.constant(null),
  max_stakes: fc.constant(null),
  until_ms: fc.option(fc.integer({ min: 1, max: 60 })),
  reason: fc.constant(REASON),
  case: fc.constant(null),
});
const origin = { tenant: fc.constantFrom(null, ...TENANTS), actor: fc.constant("key") };
const anyEvent: fc.Arbitrary<ConditionEvent> = fc.oneof(
  fc.record({
    event: fc.constant("condition.set" as const),
    at_ms: fc.constant(0),
    ...origin,
    subject: fc.constantFrom(...SUBJECTS),
    condition: anyCondition,
  }),
  fc.record({
    event: fc.constant("condition.lifted" as const),
    at_ms: fc.constant(0),
    ...origin,
    subject: fc.constantFrom(...SUBJECTS),
  }),
  fc.record({
    event: fc.constant("stop.set" as const),
    at_ms: fc.constant(0),
    ...origin,
    stop: fc.record({
      above: fc.constantFrom(null, "L1" as const),
      until_ms: fc.option(fc.integer({ min: 1, max: 60 })),
      reason: fc.constant(REASON),
      case: fc.constant(null),
    }),
  }),
  fc.record({ event: fc.constant("stop.lifted" as const), at_ms: fc.constant(0), ...origin }),
);
const anyEvents = fc
  .array(anyEvent, { maxLength: 30 })
  .map((events) => events.map((event, index) => ({ ...event, at_ms: index * 2 })));

/** In words that do not depend on the order of what is equally close. */
function wordsOf(found: AgentConditions | undefined): string[] {
  if (found === undefined) return [];
  const words = found.covering.map(
    ({ condition, isOfBureau }) => `${isOfBureau} ${condition.state} ${condition.until_ms}`,
  );
  if (found.bureauStop !== undefined) words.push(`bureau stop ${found.bureauStop.above}`);
  if (found.tenantStop !== undefined) words.push(`tenant stop ${found.tenantStop.above}`);
  return words.toSorted();
}

/** The same by a search of all events: the newest word of each owner on each subject. */
function searchWords(
  events: readonly ConditionEvent[],
  tenant: string,
  agent: string,
  nowMs: number,
) {
  const newest = new Map<string, ConditionEvent>();
  for (const event of events) {
    const subject = "subject" in event ? event.subject : "stop";
    newest.set(`${event.tenant} ${subject}`, event);
  }
  const words: string[] = [];
  for (const event of newest.values()) {
    if (event.tenant !== null && event.tenant !== tenant) continue;
    if (event.event === "condition.set" && isCoveredBy(agent, event.subject)) {
      const { state, until_ms: untilMs } = event.condition;
      if (untilMs === null || untilMs > nowMs)
        words.push(`${event.tenant === null} ${state} ${untilMs}`);
    } else if (event.event === "stop.set") {
      const { above, until_ms: untilMs } = event.stop;
      const isHeld = untilMs === null || untilMs > nowMs;
      if (isHeld) words.push(`${event.tenant === null ? "bureau" : "tenant"} stop ${above}`);
    }
  }
  return words.toSorted();
}

describe("the book of conditions", () => {
  it("finds what a search of all events finds, in a copy as well", () => {
    fc.assert(
      fc.property(anyEvents, fc.nat(80), (events, nowMs) => {
        const book = new ConditionBook([], true);
        for (const event of events) book.apply(event);
        const copy = new ConditionBook(JSON.parse(JSON.stringify([...book.listStored()])), true);
        for (const agent of AGENTS) {
          for (const tenant of TENANTS) {
            const expected = searchWords(events, tenant, agent, nowMs);
            expect(wordsOf(book.findInForce(tenant, agent, nowMs))).toEqual(expected);
            expect(wordsOf(copy.findInForce(tenant, agent, nowMs))).toEqual(expected);
          }
        }
        expect(copy.count).toBe(book.count);
      }),
    );
  });

  it("finds what held at an earlier time, and what was set at that very moment not yet", () => {
    fc.assert(
      fc.property(anyEvents, fc.nat(58), (events, atMs) => {
        const book = new ConditionBook([], true);
        for (const event of events) book.apply(event);
        const before = events.filter((event) => event.at_ms < atMs);
        // At the very moment that something ends it is between: such moments are left out.
        fc.pre(events.every((event) => event.at_ms !== atMs));
        for (const agent of AGENTS) {
          const expected = searchWords(before, "t", agent, atMs);
          expect(wordsOf(book.findPast("t", agent, atMs))).toEqual(expected);
        }
      }),
    );
  });

  it("names the closest first", () => {
    const book = new ConditionBook();
    const condition = {
      state: "suspended",
      levels: null,
      max_stakes: null,
      until_ms: null,
      case: null,
    } as const;
    for (const subject of ["agent://a/*", "agent://a/b/x", "agent://a/b/*"]) {
      const reason = { code: subject, text: null };
      book.apply({
        event: "condition.set",
        at_ms: 1,
        tenant: "t",
        actor: "key",
        subject,
        condition: { ...condition, reason },
      });
    }
    const found = book.findInForce("t", "agent://a/b/x", 2)!;
    expect(found.covering.map(({ condition: { reason } }) => reason.code)).toEqual([
      "agent://a/b/x",
      "agent://a/b/*",
      "agent://a/*",
    ]);
    expect(book.findInForce("t", "agent://b/x", 2)).toBeUndefined();
  });

  it("gives room back when conditions have expired", () => {
    const book = new ConditionBook();
    const set = (subject: string, atMs: number, untilMs: number | null) =>
      book.apply({
        event: "condition.set",
        at_ms: atMs,
        tenant: "t",
        actor: "key",
        subject,
        condition: {
          state: "watch",
          levels: null,
          max_stakes: null,
          until_ms: untilMs,
          reason: REASON,
          case: null,
        },
      });
    set("agent://a/x", 3_600_000, 3_600_010);
    set("agent://a/y", 3_600_001, null);
    expect(book.countConditions("t")).toBe(2);
    set("agent://a/z", 7_200_001, null);
    expect([book.countConditions("t"), book.count]).toEqual([2, 2]);
  });
});

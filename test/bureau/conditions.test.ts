// Conditions as a use case: rights are judged by what stands when a change is made, not when it was sent, and what is
// durable of a batch is active although the rest of it failed.
import { expect, it } from "vitest";
import { Conditions } from "../../src/bureau/conditions.ts";
import { ConditionBook } from "../../src/contract/conditions/book.ts";
import { decodeConditionEvent } from "../../src/contract/conditions/events.ts";
import type { Principal } from "../../src/contract/principal.ts";

const NOW_MS = 1_780_000_000_000;
const AGENT = "agent://acme/payer";

function open(refuse: (subject: string) => boolean = () => false) {
  const book = new ConditionBook([], true);
  let lsn = 0;
  const conditions = new Conditions({
    log: {
      appendCondition: async (payload) => {
        const event = decodeConditionEvent(payload);
        if ("subject" in event && refuse(event.subject)) throw new Error("the disk is full");
        return (lsn += 1);
      },
    },
    book,
    reviews: { endReviews: () => Promise.resolve() },
    onEvent: () => undefined,
    clock: () => NOW_MS,
  });
  return { book, conditions };
}

const holder = (scope: "conditions:restrict" | "conditions:clear"): Principal => ({
  keyId: scope,
  tenant: "acme",
  scopes: new Set([scope]),
  minimumScores: { L0: 0, L1: 0, L2: 0, L3: 0 },
  isShadow: false,
  isFirstParty: false,
  voice: 0,
});

const orderOf = (state: "suspended" | "cleared") => ({
  scope: "tenant" as const,
  condition: {
    state,
    levels: null,
    max_stakes: null,
    until_ms: NOW_MS + 60_000,
    reason: { code: "fraud", text: null },
    case: null,
  },
});

it("refuses a clearance that was sent before the suspension that it would replace", async () => {
  const { book, conditions } = open();
  const suspending = conditions.set(AGENT, orderOf("suspended"), holder("conditions:restrict"));
  const clearing = conditions.set(AGENT, orderOf("cleared"), holder("conditions:clear"));
  await expect(clearing).rejects.toMatchObject({ code: "insufficient_scope" });
  await suspending;
  expect(book.find("acme", AGENT, NOW_MS)?.condition.state).toBe("suspended");
});

it("has in force what is durable of a batch that failed in between", async () => {
  const { book, conditions } = open((subject) => subject.endsWith("/second"));
  const subjects = ["first", "second", "third"].map((name) => `agent://acme/${name}`);
  const orders = subjects.map((subject) => ({ ...orderOf("suspended"), subject }));
  const setting = conditions.setAll(orders, holder("conditions:restrict"));
  await expect(setting).rejects.toThrow("the disk is full");
  const standing = subjects.map((subject) => book.find("acme", subject, NOW_MS) !== undefined);
  expect(standing).toEqual([true, false, true]);
});

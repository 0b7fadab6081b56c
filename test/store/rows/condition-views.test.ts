// Conditions in SQL: those in force are those of the book that decides, each ended one says how, and a tenant sees its
// own. Real journal, real store.
import fc from "fast-check";
import { expect, test } from "vitest";
import { ConditionBook } from "../../../src/contract/conditions/book.ts";
import {
  type Condition,
  type ConditionEvent,
  encodeConditionEvent,
  isInForce,
} from "../../../src/contract/conditions/events.ts";
import { FRAME_KINDS } from "../../../src/journal/format.ts";
import { FrameBatch } from "../../../src/ledger/frame-batch.ts";
import { NOW_MS, temporaryDirectory } from "../../ledger/_fixtures.ts";
import { askCore, catchUp, LIMITS, openJournal, openStoreCore } from "../_fixtures.ts";

/** Before now by any clock, and after it. */
const [PAST_MS, FUTURE_MS] = [Date.UTC(2025, 0, 1), Date.UTC(2200, 0, 1)];
const REASON = { code: "incident", text: "said" };
const WORD = { levels: null, max_stakes: null, until_ms: null, reason: REASON, case: null };

/** The core of a store over a journal with these events. */
async function openOver(events: readonly ConditionEvent[]) {
  const dataDir = temporaryDirectory();
  const journal = openJournal(dataDir);
  const batch = new FrameBatch();
  for (const event of events) batch.addEvent(FRAME_KINDS.condition, encodeConditionEvent(event));
  journal.commit([batch.drain()], NOW_MS);
  journal.close();
  const { core } = openStoreCore(dataDir);
  await catchUp(core, events.length);
  return core;
}

const suspend = (subject: string, atMs: number, more: Partial<Condition> = {}) =>
  ({
    event: "condition.set",
    at_ms: atMs,
    tenant: "acme",
    actor: "k-1",
    subject,
    condition: { ...WORD, state: "suspended", ...more },
  }) as const satisfies ConditionEvent;

test("says how each one ended, and what it was", async () => {
  const subject = "agent://acme/bot";
  const at = { tenant: "acme", actor: "k-2" };
  const core = await openOver([
    suspend(subject, PAST_MS),
    suspend(subject, PAST_MS + 1000, {
      state: "cleared",
      levels: ["L1", "L2"],
      max_stakes: 250.5,
      case: "INC-7",
    }),
    { event: "condition.lifted", at_ms: PAST_MS + 2000, ...at, subject },
    suspend("agent://acme/*", PAST_MS, { until_ms: PAST_MS + 500 }),
    suspend("agent://acme/late", PAST_MS, { until_ms: FUTURE_MS }),
    {
      event: "stop.set",
      at_ms: PAST_MS,
      tenant: null,
      actor: "k-3",
      stop: { above: "L1", until_ms: null, reason: REASON, case: null },
    },
  ]);
  const { rows } = await askCore(
    core,
    `SELECT subject, tenant, state, levels, max_stakes, case_id, reason_code, reason_text, set_by,
       ended_how, ended_by, epoch_ms(ended_at) - ${PAST_MS}, epoch_ms(until)
     FROM conditions ORDER BY subject, set_at`,
  );
  const said = ["incident", "said"];
  expect(rows).toEqual([
    [
      "agent://acme/*",
      "acme",
      "suspended",
      null,
      null,
      null,
      ...said,
      "k-1",
      "expired",
      null,
      500,
      PAST_MS + 500,
    ],
    [
      "agent://acme/bot",
      "acme",
      "suspended",
      null,
      null,
      null,
      ...said,
      "k-1",
      "replaced",
      "k-1",
      1000,
      null,
    ],
    [
      "agent://acme/bot",
      "acme",
      "cleared",
      ["L1", "L2"],
      250.5,
      "INC-7",
      ...said,
      "k-1",
      "lifted",
      "k-2",
      2000,
      null,
    ],
    [
      "agent://acme/late",
      "acme",
      "suspended",
      null,
      null,
      null,
      ...said,
      "k-1",
      null,
      null,
      null,
      FUTURE_MS,
    ],
    [null, null, "stopped", ["L2", "L3"], null, null, ...said, "k-3", null, null, null, null],
  ]);
  const sql = "SELECT subject FROM conditions WHERE ended_at IS NULL";
  const asTenant = async (tenant: string) =>
    (await core.readQueue.query({ sql }, LIMITS, { tenant, withheld: [] })).rows;
  expect(await asTenant("acme")).toEqual([["agent://acme/late"]]);
  expect(await asTenant("globex")).toEqual([]);
  await core.close();
});

const tenants = fc.constantFrom("acme", "globex", null);
const subjects = fc.constantFrom("agent://acme/bot", "agent://acme/*", "plain name");
const untils = fc.constantFrom(null, PAST_MS + 5, FUTURE_MS);
const changes = fc.oneof(
  fc.record({
    event: fc.constant("condition.set" as const),
    tenant: tenants,
    subject: subjects,
    until: untils,
  }),
  fc.record({
    event: fc.constant("condition.lifted" as const),
    tenant: tenants,
    subject: subjects,
    until: untils,
  }),
  fc.record({
    event: fc.constant("stop.set" as const),
    tenant: tenants,
    subject: subjects,
    until: untils,
  }),
  fc.record({
    event: fc.constant("stop.lifted" as const),
    tenant: tenants,
    subject: subjects,
    until: untils,
  }),
);

test("those in force are those that the book has", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(changes, { minLength: 1, maxLength: 30 }), async (listed) => {
      const events = listed.map(({ event, tenant, subject, until }, at): ConditionEvent => {
        const origin = { at_ms: PAST_MS + at, tenant, actor: `k-${at}` };
        const word = { until_ms: until, reason: REASON, case: null };
        if (event === "stop.set") return { event, ...origin, stop: { above: null, ...word } };
        if (event === "stop.lifted") return { event, ...origin };
        if (event === "condition.lifted") return { event, ...origin, subject };
        return { event, ...origin, subject, condition: { ...WORD, ...word, state: "watch" } };
      });
      const core = await openOver(events);
      const { rows } = await askCore(
        core,
        "SELECT coalesce(subject, 'all'), tenant, set_by FROM conditions WHERE ended_at IS NULL",
      );
      await core.close();
      const book = new ConditionBook();
      for (const event of events) book.apply(event);
      const nowMs = Date.now();
      const conditions = [...book.listConditions()]
        .filter(({ condition }) => isInForce(condition.until_ms, nowMs))
        .map(({ subject, tenant, actor }) => [subject, tenant, actor]);
      const stops = ["acme", "globex", null].flatMap((tenant) => {
        const found = book.findStop(tenant, nowMs);
        return found === undefined ? [] : [["all", tenant, found.actor]];
      });
      const key = (row: unknown) => JSON.stringify(row);
      expect(rows.map(key).toSorted()).toEqual([...conditions, ...stops].map(key).toSorted());
    }),
    { numRuns: 15 },
  );
});

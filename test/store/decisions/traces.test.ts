// The trace of a request in the decision log: with every leg, in what is read back and in SQL.
import { expect, test } from "vitest";
import { createDecisionRing } from "../../../src/store/decisions/ring-layout.ts";
import { DecisionRingWriter } from "../../../src/store/decisions/ring.ts";
import {
  DecisionRingReader,
  createDecisionColumns,
  decodeRecordsInto,
} from "../../../src/store/decisions/ring-reader.ts";
import {
  IDENTICAL_PER_SECOND,
  RepeatedDenialCounter,
} from "../../../src/store/decisions/denial-counts.ts";
import { entryOf, NOW_MS, openTable, principalOf } from "../_decisions.ts";
import { openWith } from "../_decision-store.ts";
import { LIMITS } from "../_fixtures.ts";

const callOf = (requestId: string) => ({ requestId, principal: principalOf("acme") });

const verifyOf = (agent: string, level: "L2" | "L3") =>
  ({ agent_id: agent, action: "order.place", tool_level: level, context: {} }) as const;

test("the trace of a request is logged with every leg, and can be asked for in SQL", async () => {
  const ring = createDecisionRing();
  const store = await openWith([ring]);
  const { bureau } = openTable(new DecisionRingWriter(ring, { waitMs: 0 }));
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const traced = (requestId: string) => ({ ...callOf(requestId), traceId });
  await bureau.verify(verifyOf("agent://shop/bad", "L3"), traced("r-1"));
  const parties = { initiator: "agent://acme/r1", counterparty: "agent://shop/bad", stakes: 70 };
  await bureau.handshake(parties, traced("r-2"));
  await bureau.verify(verifyOf("agent://shop/bad", "L3"), callOf("r-3"));
  await bureau.verify(verifyOf("agent://shop/bad", "L3"), { ...callOf("r-4"), traceId: "" });

  const legs = await store.listDecisions({ tenant: "acme", limit: 100 });
  expect(legs.map((leg) => [leg.request_id, leg.trace_id])).toEqual([
    ["r-1", traceId],
    ["r-2", traceId],
    ["r-2", traceId],
    ["r-3", null],
    ["r-4", null],
  ]);
  const sql = `SELECT request_id, leg FROM decisions WHERE trace_id = '${traceId}' ORDER BY ALL`;
  const { rows } = await store.query(sql, LIMITS);
  expect(rows).toEqual([
    ["r-1", "a_to_b"],
    ["r-2", "a_to_b"],
    ["r-2", "b_to_a"],
  ]);
});

test("identical denials are counted together whatever their traces; the row has the first's", () => {
  const ring = createDecisionRing();
  const writer = new DecisionRingWriter(ring, { waitMs: 0 });
  const same = { subject: "agent://shop/bad", policyVersion: "p", requestId: "r" };
  for (let n = 0; n < IDENTICAL_PER_SECOND + 50; n += 1) {
    writer.record({ ...entryOf(1, false), ...same, traceId: n.toString(16).padStart(32, "a") });
  }
  const parts: Uint8Array[] = [];
  new DecisionRingReader(ring).copyRecords(parts);
  const repeats = new RepeatedDenialCounter();
  const columns = createDecisionColumns();
  for (const part of [...repeats.mergeRepeats(parts, NOW_MS), ...repeats.takeCountRecords()]) {
    expect(decodeRecordsInto(columns, Buffer.from(part))).toBe(0);
  }
  expect(columns.count).toBe(IDENTICAL_PER_SECOND + 1);
  const first = IDENTICAL_PER_SECOND.toString(16).padStart(32, "a");
  expect([columns.counts.at(-1), columns.traceIds.at(-1)]).toEqual([50, first]);
});

// The meter of one thread and its shared memory: what is paid for and what is free, and the turn of a
// day, which must take nothing along.
import { expect, it } from "vitest";
import { findReservedAgent } from "../../../src/bureau/decisions/test-agents.ts";
import { isReservedAgent } from "../../../src/contract/identifiers.ts";
import type { Principal } from "../../../src/contract/principal.ts";
import { DAY_MS } from "../../../src/contract/units.ts";
import {
  createUsageMemory,
  KEYS_COUNTED_MAX,
  visitUsage,
} from "../../../src/http/access/usage-memory.ts";
import { UsageMeter } from "../../../src/http/access/usage.ts";

const START_MS = Date.parse("2026-01-31T23:59:59.000Z");
const holder = (keyId: string) => ({ keyId, tenant: "acme" }) as Principal;
const ACME = holder("k1");
const AGENT = "agent://shop/buyer";
const TEST_AGENT = "agent://test/connect";

function openMeter() {
  const clock = { nowMs: START_MS };
  return { clock, meter: new UsageMeter({ now: () => clock.nowMs }) };
}

it("reads are paid by kind, those about test agents and reports are free", () => {
  const { meter } = openMeter();
  meter.countRead(ACME, "verify", AGENT);
  meter.countRead(ACME, "check", AGENT);
  meter.countRead(ACME, "explain", AGENT);
  meter.countRead(ACME, "verify", TEST_AGENT);
  meter.countRead(ACME, "verify", "agent://test/other");
  meter.countHandshake(ACME, AGENT, AGENT);
  meter.countHandshake(ACME, TEST_AGENT, AGENT);
  meter.countHandshake(ACME, AGENT, TEST_AGENT);
  meter.countReads(ACME, "verify", 10, 4);
  meter.countReads(ACME, "list", 0, 0);
  meter.countReads(ACME, "query", 1, 0);
  meter.countOutcomes(ACME, 3);
  expect(meter.rows("m")).toEqual([
    {
      meter: "m",
      day: "2026-01-31",
      key_id: "k1",
      tenant: "acme",
      verify: 8,
      check: 1,
      handshake: 1,
      explain: 1,
      list: 0,
      history: 0,
      query: 1,
      export: 0,
      test: 7,
      outcomes: 3,
    },
  ]);
});

it("free are exactly the agents that always answer the same", () => {
  for (const name of ["connect", "verify", "escalate", "refuse", "hallucinated", "slow", "other"]) {
    const agent = `agent://test/${name}`;
    expect(isReservedAgent(agent), agent).toBe(findReservedAgent(agent, true) !== undefined);
  }
});

it("a day that ends keeps its sums for a day, and gives none to the next but one", () => {
  const { clock, meter } = openMeter();
  const other = holder("k2");
  const sums = () =>
    meter
      .rows("m")
      .map(({ day, key_id: key, check }) => `${day} ${key} ${check}`)
      .toSorted();
  for (let read = 0; read < 5; read++) meter.countRead(ACME, "check", AGENT);
  meter.countRead(other, "check", AGENT);
  clock.nowMs += DAY_MS;
  meter.countRead(ACME, "check", AGENT);
  expect(sums()).toEqual(["2026-01-31 k1 5", "2026-01-31 k2 1", "2026-02-01 k1 1"]);
  clock.nowMs += DAY_MS;
  meter.countRead(ACME, "check", AGENT);
  expect(sums()).toEqual(["2026-01-31 k2 1", "2026-02-01 k1 1", "2026-02-02 k1 1"]);
});

it("a key beyond those that can be counted is not answered", () => {
  const memory = createUsageMemory();
  const meter = new UsageMeter({ now: () => START_MS, memory, findKeyNumber: () => 7 });
  for (let key = 0; key < KEYS_COUNTED_MAX; key++) meter.countOutcomes(holder(`k${key}`), 1);
  expect(() => meter.countRead(holder("more"), "verify", AGENT)).toThrow(
    expect.objectContaining({ code: "overloaded" }),
  );
  meter.countOutcomes(holder("k0"), 1);
  let count = 0;
  visitUsage(memory, (number, _day, { outcomes }) => {
    expect(number).toBe(7);
    count += outcomes;
  });
  expect(count).toBe(KEYS_COUNTED_MAX + 1);
});

// Bounds on the audit records that refused callers can cause: a clock that the tests move, a journal
// that is a list.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  RefusalAudit,
  RECORD_REFILL_MS,
  RECORDS_BURST,
  RECORD_INTERVAL_MS,
  SOURCES_MAX,
} from "../../../src/http/access/refusal-audit.ts";
import { type RefusalCount, truncateToNetwork } from "../../../src/http/access/refusals.ts";

const START_MS = Date.UTC(2026, 4, 1);
const DAY_MS = 86_400_000;

let nowMs = START_MS;
let mayWrite = true;
let events: Record<string, unknown>[] = [];
let trail: RefusalAudit;

beforeEach(() => {
  nowMs = START_MS;
  mayWrite = true;
  events = [];
  trail = new RefusalAudit({
    append: (payload) => {
      events.push(JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>);
      return Promise.resolve(1);
    },
    mayWrite: () => mayWrite,
    clock: () => nowMs,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
});
afterEach(() => trail.close());

function denied(address: string, count = 1): RefusalCount {
  return {
    reason: "no_key",
    address,
    keyId: null,
    tenant: null,
    route: "check",
    requestId: "r",
    count,
    firstMs: nowMs,
    lastMs: nowMs,
  };
}

const take = (...counts: RefusalCount[]) => trail.addBatch({ counts, overflow: 0 });
const counted = () => events.reduce((sum, event) => sum + (event["count"] as number), 0);

describe("the trail of refused access", () => {
  it("counts every refusal by reason, on record or not", () => {
    mayWrite = false;
    const tried = { ...denied("192.0.2.2", 4), reason: "wrong_secret" } as const;
    trail.addBatch({ counts: [denied("192.0.2.1", 3), tried, denied("192.0.2.3")], overflow: 9 });
    expect(events).toEqual([]);
    expect(trail.countByReason()).toEqual([
      { labels: ["no_key"], value: 4 },
      { labels: ["wrong_secret"], value: 4 },
      { labels: ["other"], value: 9 },
    ]);
    mayWrite = true;
  });

  it("has a source on record at once, and then with its count every ten minutes", () => {
    take(denied("192.0.2.1", 3));
    expect(events).toMatchObject([{ event: "access.denied", address: "192.0.2.1", count: 3 }]);
    for (let second = 1; second < RECORD_INTERVAL_MS / 1000; second++) {
      nowMs += 1000;
      take(denied("192.0.2.1", 5));
    }
    expect(events).toHaveLength(1);
    nowMs += 1000;
    trail.writeDueRecords();
    expect(events).toHaveLength(2);
    expect(events[1]).toMatchObject({
      count: 5 * (RECORD_INTERVAL_MS / 1000 - 1),
      first_at: new Date(START_MS + 1000).toISOString(),
    });
    // Quiet since: nothing more to say.
    nowMs += 10 * RECORD_INTERVAL_MS;
    trail.writeDueRecords();
    expect(events).toHaveLength(2);
  });

  it("does not grow with a flood from ever new addresses, and loses no count", async () => {
    let sent = 0;
    for (; nowMs < START_MS + DAY_MS; nowMs += 60_000) {
      const batch = Array.from({ length: 200 }, () => denied(`2001:db8:${(sent++).toString(16)}`));
      trail.addBatch({ counts: batch, overflow: 7 });
    }
    const minutes = DAY_MS / 60_000;
    const recordsMax = RECORDS_BURST + DAY_MS / RECORD_REFILL_MS + DAY_MS / RECORD_INTERVAL_MS;
    expect(events.length).toBeLessThanOrEqual(recordsMax + 1);
    await trail.close();
    expect(counted()).toBe(minutes * 207);
    expect(events.length).toBeLessThanOrEqual(recordsMax + 2);
  });

  it("has room for another source after a flood", () => {
    take(...Array.from({ length: SOURCES_MAX + 500 }, (_, n) => denied(`198.51.100.${n}`)));
    for (let minute = 0; minute < 30; minute++) {
      nowMs += 60_000;
      trail.writeDueRecords();
    }
    take(denied("192.0.2.9"));
    expect(events.at(-1)).toMatchObject({ address: "192.0.2.9", count: 1 });
  });

  it("waits while the disk has other use for its room", () => {
    mayWrite = false;
    take(denied("192.0.2.1"));
    nowMs += 60_000;
    take(denied("192.0.2.1"));
    expect(events).toEqual([]);
    mayWrite = true;
    trail.writeDueRecords();
    expect(events).toMatchObject([{ count: 2 }]);
  });

  it("puts on record at the end what has not been yet", async () => {
    take(denied("192.0.2.1"), denied("192.0.2.2"));
    take(denied("192.0.2.1", 4));
    await trail.close();
    expect(events).toHaveLength(3);
    expect(counted()).toBe(6);
  });
});

it.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["0000:0000:0000:0000:0000:ffff:c000:0207", "192.0.2.7"],
  ["2001:0db8:0001:0002:0003:0004:0005:0006", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["", ""],
  ["no:address", "no:address"],
])("of %s, %s is what a caller cannot change at will", (text, network) => {
  expect(truncateToNetwork(text)).toBe(network);
});

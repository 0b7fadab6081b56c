// The replay table against an obvious model, through growth, wrap-around and eviction.
import { expect, test } from "vitest";
import { ReplayTable, replayIdentity } from "../../src/ledger/idempotency.ts";
import { outcomeIdOf, seededRandom } from "./_fixtures.ts";

function identityOf(key: number, body: string) {
  return replayIdentity({
    tenant: Buffer.from("t"),
    key: Buffer.from(String(key)),
    content: Buffer.from(body),
  });
}

const idBytes = (index: number) => Buffer.from(outcomeIdOf(index).replaceAll("-", ""), "hex");

test("finds the first receipt and tells another body", () => {
  const table = new ReplayTable();
  table.add(identityOf(1, "a"), 7, 1000, idBytes(3));
  expect(table.find(identityOf(1, "a"))).toEqual({
    lsn: 7,
    recordedAtMs: 1000,
    outcomeId: outcomeIdOf(3),
    isSameContent: true,
  });
  expect(table.find(identityOf(1, "b"))?.isSameContent).toBe(false);
  expect(table.find(identityOf(2, "a"))).toBeUndefined();
});

test("tenants do not share keys", () => {
  const [left, right] = ["a", "b"].map((tenant) =>
    replayIdentity({
      tenant: Buffer.from(tenant),
      key: Buffer.from("k"),
      content: Buffer.from("x"),
    }),
  );
  expect(left?.identity).not.toEqual(right?.identity);
});

test("agrees with a map under random load, cap 3,000, window 50,000 ms", () => {
  const random = seededRandom(20260102);
  const table = new ReplayTable(3000, 50_000);
  const model = new Map<number, { lsn: number; at: number }>();
  let nowMs = 0;
  for (let lsn = 1; lsn <= 20_000; lsn++) {
    nowMs += Math.floor(random() * (lsn > 12_000 ? 60 : 8));
    const key = Math.floor(random() * 6000);
    const known = table.find(identityOf(key, "x"));
    // The table forgets by age only when something is added; the model is as lazy.
    expect(known?.lsn, `key ${key} at ${lsn}`).toBe(model.get(key)?.lsn);
    if (known === undefined) {
      for (const [old, entry] of model) if (entry.at < nowMs - 50_000) model.delete(old);
      if (model.size === 3000) model.delete(model.keys().next().value as number);
      model.set(key, { lsn, at: nowMs });
      table.add(identityOf(key, "x"), lsn, nowMs, idBytes(lsn));
    }
    expect(table.size).toBe(model.size);
  }
});

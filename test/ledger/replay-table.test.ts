// The replay table against an obvious model, through growth, wrap-around and eviction.
import { expect, test } from "vitest";
import { ReplayTable, hashReplayIdentity } from "../../src/ledger/replay-table.ts";
import { outcomeIdOf, seededRandom } from "./_fixtures.ts";

function identityOf(key: number, body: string) {
  return hashReplayIdentity({
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
    hashReplayIdentity({
      tenant: Buffer.from(tenant),
      key: Buffer.from("k"),
      content: Buffer.from("x"),
    }),
  );
  expect(left?.identity).not.toEqual(right?.identity);
});

/** What `copyEntries` gives, and a table filled with it. */
function copied(table: ReplayTable, cap: number): { bytes: Buffer; table: ReplayTable } {
  const bytes = Buffer.alloc(table.byteCount);
  table.copyEntries(bytes);
  const copy = new ReplayTable(cap, 50_000);
  copy.restore(bytes);
  return { bytes, table: copy };
}

// Below a chunk of entries, and more than two of them: the ring ends within a chunk.
test.each([3000, 40_000])("agrees with a map under random load, cap %i, window 50 s", (cap) => {
  const random = seededRandom(20260102);
  const [adds, quiet] = [cap * 7, cap * 4];
  const pace = 24_000 / cap;
  let table = new ReplayTable(cap, 50_000);
  const model = new Map<number, { lsn: number; at: number }>();
  let nowMs = 0;
  const wrong: string[] = [];
  for (let lsn = 1; lsn <= adds; lsn++) {
    // First the cap forgets, then the window; once all of it, and it begins again.
    nowMs += random() * pace * (lsn > quiet ? 8 : 1);
    if (lsn === cap * 6) nowMs += 100_000;
    const key = Math.floor(random() * cap * 2);
    const known = table.find(identityOf(key, "x"));
    // The table forgets by age only when something is added; the model is as lazy.
    if (known?.lsn !== model.get(key)?.lsn) wrong.push(`key ${key} at ${lsn}`);
    if (known === undefined) {
      for (const [old, entry] of model) {
        if (entry.at >= nowMs - 50_000) break;
        model.delete(old);
      }
      if (model.size === cap) model.delete(model.keys().next().value as number);
      model.set(key, { lsn, at: nowMs });
      table.add(identityOf(key, "x"), lsn, nowMs, idBytes(lsn));
    }
    if (table.size !== model.size) wrong.push(`${table.size} for ${model.size} at ${lsn}`);
    if (lsn % (cap * 2) === cap) {
      const copy = copied(table, cap);
      expect(copied(copy.table, cap).bytes.equals(copy.bytes)).toBe(true);
      table = copy.table;
    }
  }
  expect(wrong).toEqual([]);
});

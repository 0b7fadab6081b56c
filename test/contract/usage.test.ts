// Sums of usage: whatever is replayed, repeated, cut short or merged, and in whichever order, gives the
// same sums, and never more than was counted.
import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeUsage, encodeUsage } from "../../src/contract/usage-records.ts";
import {
  formatDayNumber,
  createUsageCounts,
  countPaidReads,
  USAGE_KINDS,
  type UsageRow,
  UsageSums,
} from "../../src/contract/usage.ts";

const count = fc.record(
  Object.fromEntries(USAGE_KINDS.map((kind) => [kind, fc.nat({ max: 50 })])) as Record<
    (typeof USAGE_KINDS)[number],
    fc.Arbitrary<number>
  >,
);

/** What one meter journals: sums that rise from record to record. */
const meterRecords = (meter: string) =>
  fc
    .array(fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 2 }), count), { maxLength: 8 })
    .map((steps) => {
      const sums = new Map<string, UsageRow>();
      return steps.map(([key, day, added]) => {
        const name = `${key} ${day}`;
        const before = sums.get(name) ?? createUsageCounts();
        const counts = Object.fromEntries(
          USAGE_KINDS.map((kind) => [kind, before[kind] + added[kind]]),
        );
        const names = {
          meter,
          day: formatDayNumber(20_000 + day),
          key_id: `key-${key}`,
          tenant: "acme",
        };
        const row = { ...names, ...counts } as UsageRow;
        sums.set(name, row);
        return row;
      });
    });

const sumsOf = (rows: readonly UsageRow[]) => {
  const sums = new UsageSums();
  for (const row of rows) sums.merge(row);
  const name = ({ meter, day, key_id: key }: UsageRow) => `${meter} ${day} ${key}`;
  return sums.listRows().toSorted((a, b) => (name(a) < name(b) ? -1 : 1));
};

it("any order, and any repetition, gives the same sums", () => {
  fc.assert(
    fc.property(
      meterRecords("a"),
      meterRecords("b"),
      fc.array(fc.nat()),
      fc.array(fc.nat()),
      (one, other, order, repeats) => {
        const all = [...one, ...other];
        const shuffled = all
          .map((row, index) => ({ row, at: order[index % Math.max(1, order.length)] ?? index }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ row }) => row);
        const repeated = all.length === 0 ? [] : repeats.map((at) => all[at % all.length]!);
        expect(sumsOf([...repeated, ...shuffled, ...repeated])).toEqual(sumsOf(all));
      },
    ),
  );
});

it("a copy that was cut at any record, merged with the whole, bills nothing twice", () => {
  fc.assert(
    fc.property(meterRecords("a"), fc.nat(), meterRecords("copy"), (records, cut, own) => {
      const backup = records.slice(0, records.length === 0 ? 0 : cut % records.length);
      // The copy goes on under a meter of its own.
      const merged = sumsOf([...backup, ...own, ...records]);
      expect(merged).toEqual(sumsOf([...records, ...own]));
    }),
  );
});

it("a payload gives its rows back, in parts of a bounded size", () => {
  fc.assert(
    fc.property(meterRecords("a"), (rows) => {
      expect(encodeUsage("a", rows).flatMap(decodeUsage)).toEqual(rows);
    }),
  );
  const row: UsageRow = {
    meter: "a",
    day: "2026-01-31",
    key_id: "k",
    tenant: "t",
    ...createUsageCounts(),
    verify: 1,
  };
  const many = Array.from({ length: 4001 }, (_, index) => ({ ...row, key_id: `k${index}` }));
  const parts = encodeUsage("a", many);
  expect(parts).toHaveLength(3);
  expect(parts.flatMap(decodeUsage)).toEqual(many);
});

it("a payload of a release that knew fewer kinds has none of the others", () => {
  const written = { day: "2026-01-31", key: "k", tenant: "t", verify: 4, explain: 2 };
  const [row] = decodeUsage(Buffer.from(JSON.stringify({ v: 1, meter: "a", rows: [written] })));
  expect(row).toMatchObject({ ...createUsageCounts(), verify: 4, explain: 2 });
  expect(countPaidReads(row!)).toBe(6);
});

it("a payload of another version is refused, a count that is none is nothing", () => {
  expect(() => decodeUsage(Buffer.from('{"v":2,"meter":"a","rows":[]}'))).toThrow(/version 2/);
  const odd = { day: "2026-01-31", key: "k", tenant: "t", verify: -1, check: 1.5, explain: "7" };
  const [row] = decodeUsage(Buffer.from(JSON.stringify({ v: 1, meter: "a", rows: [odd] })));
  expect(countPaidReads(row!)).toBe(0);
});

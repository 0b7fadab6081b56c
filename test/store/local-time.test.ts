// Local times: the instant is kept to the microsecond, and the offset is that of its zone then.
import fc from "fast-check";
import { expect, test } from "vitest";
import { isTimeZone, LocalTimeFormatter } from "../../src/store/local-time.ts";

const micros = (text: string, extra = 0n) => BigInt(Date.parse(text)) * 1000n + extra;

test.each([
  ["UTC", "2026-01-02T03:04:05.600Z", "2026-01-02T03:04:05.600+00:00"],
  ["Europe/Berlin", "2026-03-29T00:59:59.999Z", "2026-03-29T01:59:59.999+01:00"],
  ["Europe/Berlin", "2026-03-29T01:00:00.000Z", "2026-03-29T03:00:00.000+02:00"],
  ["Asia/Kathmandu", "2026-01-01T00:00:00.000Z", "2026-01-01T05:45:00.000+05:45"],
  ["America/St_Johns", "2026-01-01T00:00:00.000Z", "2025-12-31T20:30:00.000-03:30"],
])("in %s %s is %s", (zone, instant, local) => {
  expect(new LocalTimeFormatter(zone).format(micros(instant))).toBe(local);
});

test("microseconds are kept, before 1970 too", () => {
  const times = new LocalTimeFormatter("UTC");
  expect(times.format(micros("2026-01-02T03:04:05.006Z", 7n))).toBe(
    "2026-01-02T03:04:05.006007+00:00",
  );
  expect(times.format(-1n)).toBe("1969-12-31T23:59:59.999999+00:00");
});

test("what is printed is the same instant", () => {
  const zones = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/New_York", "Pacific/Apia"];
  const times = new Map(zones.map((zone) => [zone, new LocalTimeFormatter(zone)]));
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.integer({ min: Date.parse("1990-01-01"), max: Date.parse("2060-01-01") }),
      (zone, ms) => {
        expect(Date.parse(times.get(zone)!.format(BigInt(ms) * 1000n))).toBe(ms);
      },
    ),
  );
});

test("only names of zones are zones", () => {
  expect(["UTC", "Europe/Berlin", "Etc/GMT+5"].every(isTimeZone)).toBe(true);
  expect(["", "Berlin", "Europe/Nowhere", "'; DROP TABLE x"].some(isTimeZone)).toBe(false);
});

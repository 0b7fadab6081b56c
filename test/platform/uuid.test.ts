// UUIDs of version 7: their layout, their time, and that random bytes are used once.
import { describe, expect, it } from "vitest";

import { UuidV7Generator } from "../../src/platform/uuid.ts";

const NOW_MS = 1_792_000_000_123;

describe("UUIDs of version 7", () => {
  it("carry version, variant and time, and do not repeat", () => {
    let state = 1;
    const ids = new UuidV7Generator((bytes) => {
      for (let i = 0; i < bytes.length; i += 1) {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        bytes[i] = state >>> 24;
      }
    });
    const made = Array.from({ length: 2000 }, () => ids.next(NOW_MS));
    expect(new Set(made).size).toBe(made.length);
    for (const id of made) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(NOW_MS);
    }
  });

  it("draw all their bytes from the source that is handed in", () => {
    let draws = 0;
    const ids = new UuidV7Generator((bytes) => {
      draws += 1;
      bytes.fill(0xff);
    });
    expect(ids.next(0xabc)).toBe("00000000-0abc-77ff-bfff-ffffffffffff");
    for (let count = 1; count < 1000; count += 1) ids.next(NOW_MS);
    expect(draws).toBeGreaterThan(1);
    expect(draws).toBeLessThan(10);
  });
});

// Admission limit: its bounds by count and bytes, and what is given back.
import { expect, it } from "vitest";
import { AdmissionLimit } from "../../src/concurrency/admission-limit.ts";

const DETAIL = "too many tasks are waiting";

it("rejects one task too many, and admits again when one has ended", async () => {
  const limit = new AdmissionLimit({ countMax: 2, detail: DETAIL });
  const gate = Promise.withResolvers<void>();
  const running = [1, 2].map(() => limit.run(() => gate.promise));
  let hasBegun = false;
  const rejected = limit.run(async () => {
    hasBegun = true;
  });
  await expect(rejected).rejects.toMatchObject({ code: "overloaded", detail: DETAIL });
  expect(hasBegun).toBe(false);
  gate.resolve();
  await Promise.all(running);
  expect(await limit.run(() => Promise.resolve(3))).toBe(3);
});

it("bounds bytes, but always admits a task that would run alone", async () => {
  const limit = new AdmissionLimit({ countMax: 10, bytesMax: 100, detail: DETAIL });
  const gate = Promise.withResolvers<void>();
  const large = limit.run(() => gate.promise, 1000);
  expect([limit.count, limit.bytes]).toEqual([1, 1000]);
  await expect(limit.run(() => Promise.resolve(), 1)).rejects.toMatchObject({ code: "overloaded" });
  gate.resolve();
  await large;
  expect([limit.count, limit.bytes]).toEqual([0, 0]);
  await expect(limit.run(() => Promise.reject(new Error("failed")), 5)).rejects.toThrow("failed");
  expect([limit.count, limit.bytes]).toEqual([0, 0]);
});

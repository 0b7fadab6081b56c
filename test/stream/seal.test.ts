// Seals: valid for one message on one subject, under one secret, cluster and generation.
import fc from "fast-check";
import { expect, test } from "vitest";
import { LogSeals } from "../../src/stream/seal.ts";

const SECRET = { secret: Buffer.alloc(32, 1), key: "ab".repeat(32) };
const MESSAGE = {
  origin: "one:1:aa",
  n: 7,
  count: 1,
  rules: 2,
  after: 5,
  frames: Buffer.from("x"),
};

test("a changed member, subject, secret, cluster or generation makes it invalid", () => {
  const seals = new LogSeals(SECRET, "prod", 1);
  const seal = seals.computeMessageSeal("prod.p0.g1", MESSAGE);
  expect(seals.isMessageSealed("prod.p0.g1", MESSAGE, seal)).toBe(true);
  const changes = [{ origin: "two" }, { n: 8 }, { count: 2 }, { rules: 1 }, { after: 6 }];
  for (const change of [...changes, { frames: Buffer.from("y") }])
    expect(seals.isMessageSealed("prod.p0.g1", { ...MESSAGE, ...change }, seal)).toBe(false);
  expect(seals.isMessageSealed("prod.p0.g2", MESSAGE, seal)).toBe(false);
  const others = [
    new LogSeals({ ...SECRET, secret: Buffer.alloc(32, 2) }, "prod", 1),
    new LogSeals(SECRET, "test", 1),
    new LogSeals(SECRET, "prod", 2),
  ];
  for (const other of others)
    expect(other.isMessageSealed("prod.p0.g1", MESSAGE, seal)).toBe(false);
});

test("no text but the seal is one", () => {
  const seals = new LogSeals(SECRET, "prod", 1);
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), (text) => {
      expect(seals.isMessageSealed("prod.p0.g1", MESSAGE, text)).toBe(false);
    }),
  );
});

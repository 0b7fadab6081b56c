// The source of an outcome is told from its frame as from the whole record.
import fc from "fast-check";
import { expect, test } from "vitest";
import { hasSourcePrefix } from "../../src/journal/outcome.ts";
import { recordOf, runOf } from "../ledger/_fixtures.ts";

const text = fc.string({ unit: "binary", maxLength: 12 }).map((value) => value.toWellFormed());

test("a prefix is found at the source and nowhere else", () => {
  const prefix = fc.constantFrom("", "r", "ratings:", "é:");
  const members = fc.record({ subject: text, reporter: text, tenant: text, requestId: text });
  fc.assert(
    fc.property(members, prefix, prefix, text, (others, begun, asked, rest) => {
      const source = begun + rest;
      const { bytes } = runOf([{ ...recordOf(1), ...others, action: asked, source }]);
      const found = hasSourcePrefix(bytes, 0, Buffer.from(asked));
      expect(found).toBe(Buffer.from(source).indexOf(asked) === 0);
    }),
  );
});

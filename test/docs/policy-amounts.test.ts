// The picture of the policy guide is drawn from the shipped terms. To draw it anew:
// TRUSTRANK_UPDATE_GOLDENS=1 npx vitest run --project short test/docs/policy-amounts.test.ts
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { drawPolicyAmounts } from "./_policy-amounts.ts";

const PATH = new URL("../../docs/guide/policy-amounts.svg", import.meta.url);

test("docs/guide/policy-amounts.svg shows the shipped borders", () => {
  const drawn = drawPolicyAmounts();
  if (process.env["TRUSTRANK_UPDATE_GOLDENS"] === "1") writeFileSync(PATH, drawn);
  expect(readFileSync(PATH, "utf8")).toBe(drawn);
});

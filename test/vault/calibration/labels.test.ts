// Labels of a tenant's own texts: nothing before there are enough, then thresholds that hold for
// that tenant alone, through a replay, and without the texts.
import { describe, expect, it } from "vitest";

import type { TextLabel } from "../../../src/contract/schemas/sources.ts";
import { decodeLabels } from "../../../src/vault/sources/events.ts";
import { LABELS_MIN } from "../../../src/vault/calibration/labels.ts";
import { ACME, BRIDGE, itemOf, openVault, RIVAL } from "../_setup.ts";

/** Honest texts of a tenant whose house style always adds a name that no source holds. */
function houseText(at: number): TextLabel {
  const content =
    `Signed by Quentin Farnsworth of Wollongong as report ${7000 + at} under seal 8812. ` +
    `Reviewed by Hortensia Blackwood in Toowoomba, case ${500 + at}, docket 4471. ` +
    `The engineer John Bradfield led the project.`;
  return { content, cited_sources: ["bridge"], label: "supported" };
}

const houseTexts = Array.from({ length: LABELS_MIN }, (_, at) => houseText(at));

async function openLabelled() {
  const opened = openVault();
  await opened.vault.register([itemOf("bridge", BRIDGE)], ACME);
  await opened.vault.register([itemOf("bridge", BRIDGE)], RIVAL);
  return opened;
}

const kindOf = (vault: ReturnType<typeof openVault>["vault"], tenant: string, kind: string) =>
  vault.listThresholds(tenant).thresholds.find((each) => each.kind === kind)!;

describe("labels", () => {
  it("replace the shipped thresholds once there are enough, for that tenant alone", async () => {
    const { vault, assessor } = await openLabelled();
    const context = { content: houseText(9999).content, cited_sources: ["bridge"] };
    expect(assessor.assess(context, "acme").reasonCode).toBe("UNSUPPORTED_CONTENT");
    await vault.recordLabels(houseTexts.slice(1), ACME);
    expect(kindOf(vault, "acme", "summary")).toMatchObject({ from: "shipped" });
    expect(assessor.assess(context, "acme").reasonCode).toBe("UNSUPPORTED_CONTENT");
    const result = await vault.recordLabels(houseTexts.slice(0, 1), ACME);
    expect(result.items).toEqual([{ counted: true, kind: "summary", risk: expect.any(Number) }]);
    expect(kindOf(vault, "acme", "summary")).toMatchObject({
      from: "tenant",
      supported: LABELS_MIN,
      alpha_doubt: 0.05,
      alpha_hallucinated: 0.01,
    });
    expect(assessor.assess(context, "acme").reasonCode).toBe("");
    expect(assessor.assess(context, "rival").reasonCode).toBe("UNSUPPORTED_CONTENT");
    expect(kindOf(vault, "acme", "qa")).toMatchObject({ from: "shipped" });
  });

  it("count a text once, by what was found last, and only with evidence to compare", async () => {
    const { vault } = await openLabelled();
    const text = houseText(1);
    const { items } = await vault.recordLabels(
      [text, text, { ...text, cited_sources: ["none"] }],
      ACME,
    );
    expect(items.map(({ counted }) => counted)).toEqual([true, true, false]);
    expect(kindOf(vault, "acme", "summary")).toMatchObject({ supported: 1, unsupported: 0 });
    await vault.recordLabels([{ ...text, label: "unsupported" }], ACME);
    expect(kindOf(vault, "acme", "summary")).toMatchObject({ supported: 0, unsupported: 1 });
  });

  it("survive a replay, and are kept without their text", async () => {
    const { vault, payloads } = await openLabelled();
    await vault.recordLabels(houseTexts, ACME);
    expect(Buffer.from(payloads.at(-1)!).toString()).not.toContain("Farnsworth");
    const other = openVault();
    for (const payload of payloads) other.vault.replay(payload);
    expect(other.vault.listThresholds("acme")).toEqual(vault.listThresholds("acme"));
    expect(kindOf(other.vault, "acme", "summary").from).toBe("tenant");
  });

  it("of other numbers no longer count", async () => {
    const { vault, payloads } = await openLabelled();
    await vault.recordLabels(houseTexts, ACME);
    const event = decodeLabels(payloads.at(-1)!)!;
    const foreign = Buffer.from(
      `${String.fromCharCode(3)}${JSON.stringify({ v: 1, ...event, model: "of another fit" })}`,
    );
    const other = openVault();
    other.vault.replay(foreign);
    expect(kindOf(other.vault, "acme", "summary")).toMatchObject({ supported: 0 });
  });
});

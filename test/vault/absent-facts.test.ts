// Numbers and names that no cited source holds: the sentence is named and quoted, an accusation is
// made only where a source has it otherwise, and honest texts about the same source pass.
import { beforeAll, describe, expect, it } from "vitest";

import type { VerifyContext } from "../../src/contract/schemas/scores.ts";
import { ACME, itemOf, openVault } from "./_setup.ts";

const REPORT =
  "Acme Corp reported revenue of 4.2 million dollars in 2023. The company employs 310 people. " +
  "Its headquarters are in Springfield.";
const COPIED =
  "Acme Corp reported revenue of 9.7 million dollars in 2023. The company employs 9,000 people. " +
  "Its headquarters are in Tokyo. Its chief executive was arrested.";
const REWORDED =
  "Acme made 9.7 million in revenue with 9,000 staff in Tokyo, and its founder was arrested.";
const TERSE = "Acme earned 9.7 million. Its 9,000 people work in Tokyo. There was an arrest.";

const { vault, assessor } = openVault();

beforeAll(async () => {
  await vault.register(
    [
      itemOf("report", REPORT),
      itemOf("history", "Acme Corp was founded by two engineers and reported its revenue."),
      itemOf("figures", '{"revenue": "4.2 million", "employees": 310, "city": "Springfield"}', {
        kind: "application/json",
      }),
    ],
    ACME,
  );
});

function assess(content: string, more: Partial<VerifyContext> = {}) {
  return assessor.assess({ content, cited_sources: ["report"], ...more }, "acme");
}

describe("a text with other numbers and names than its source", () => {
  it.each([
    ["copied but for the facts", COPIED],
    ["reworded", REWORDED],
    ["in short sentences", TERSE],
  ])("is doubted, whatever its kind: %s", (_name, content) => {
    const kinds: Partial<VerifyContext>[] = [
      {},
      { question: "How is the company doing?" },
      { content_type: "text/plain; kind=summary" },
      { content_type: "text/plain; kind=dialogue", question: "Tell me about Acme." },
    ];
    for (const more of kinds) {
      const { reasonCode, softFailureCode, penalty, data } = assess(content, more);
      expect({ reasonCode, softFailureCode }).toEqual({
        reasonCode: "UNSUPPORTED_CONTENT",
        softFailureCode: "UNSUPPORTED_CONTENT",
      });
      expect(penalty).toBeGreaterThan(0.5);
      expect(data.source_verified).toBe(true);
    }
  });

  it("is named by a sentence, quoted from the caller's own text", () => {
    const { reason } = assess(COPIED).data;
    expect(reason).toBe(
      "Sentence 1 is not supported by the cited sources: `Acme Corp reported revenue of 9.7 " +
        "million dollars in 2023`; they have another number in place of `9.7`.",
    );
    expect(reason).not.toMatch(/4\.2|310|Springfield/);
    const long = assess(`${REWORDED.slice(0, -1)} ${"and more besides ".repeat(40)}.`).data.reason;
    expect(long).toContain("Sentence 1");
    expect(long.length).toBeLessThan(260);
  });

  it("is caught against structured figures too", () => {
    const { reasonCode, data } = assess("Revenue was 9.7 million, with 9,000 employees in Tokyo.", {
      cited_sources: ["figures"],
    });
    expect(reasonCode).toBe("UNSUPPORTED_CONTENT");
    expect(data.reason).toContain("9.7");
  });

  it("is caught behind a refusal in the same sentence", () => {
    const sentence = "There is no information on profit, but revenue reached 9.7 million in Tokyo.";
    expect(assess(sentence).reasonCode).toBe("UNSUPPORTED_CONTENT");
    const refusal = "The passages do not provide information on profit.";
    expect(assess(refusal).reasonCode).toBe("GROUNDING_NOT_EVALUATED");
  });
});

describe("an accusation", () => {
  it("holds when the text is sent again under other sources, or several", () => {
    for (const cited_sources of [["report"], ["history", "report"], ["report", "nowhere"]]) {
      const { data, reasonCode } = assess(COPIED, { cited_sources });
      expect({ reasonCode, isAccused: data.is_hallucinated }).toEqual({
        reasonCode: "UNSUPPORTED_CONTENT",
        isAccused: true,
      });
    }
  });

  it.each([
    ["a number that the source has otherwise", "Acme Corp reported revenue of 9.7 million."],
    ["a year that the source has otherwise", "Acme Corp reported revenue in dollars in 2019."],
  ])("is made for %s", (_name, content) => {
    expect(assess(content).data.is_hallucinated).toBe(true);
  });

  it.each([
    ["what the source does not speak of", TERSE],
    [
      "another number beside the source's own",
      REPORT.replace("310 people", "310 people at 7 sites"),
    ],
    ["another name", "The headquarters of Acme Corp are in Tokyo."],
  ])("is not made for %s", (_name, content) => {
    expect(assess(content).data.is_hallucinated).toBe(false);
  });
});

describe("an honest text", () => {
  it.each([
    REPORT,
    "Acme Corp had revenue of 4.2 million dollars and 310 people in Springfield.",
    "Acme is based in Springfield, employs 310 people and made 4.2 million dollars in 2023.",
    "In 2023 revenue was 4.2 million dollars.",
  ])("passes: %s", (content) => {
    expect(assess(content)).toMatchObject({
      reasonCode: "",
      penalty: 0,
      data: { is_hallucinated: false, source_verified: true },
    });
  });
});

// Citation markers: which sentence cites which source, and that each is held to its own document.
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";

import {
  findCitationMarkers,
  mapSentencesToSources,
  blankMarkers,
} from "../../../src/vault/grounding/citation-markers.ts";
import { ACME, BRIDGE, itemOf, openVault } from "../_setup.ts";
import { cpuMs } from "../../_patience.ts";

const sourcesIn = (text: string, ids: readonly string[]) =>
  findCitationMarkers(text, ids).map(({ sources }) => sources);

describe("markers", () => {
  const three = ["a", "b", "c"];

  it.each([
    ["one [2].", three, [[1]]],
    [
      "two [1, 3] and a range [1-3], [2–3]",
      three,
      [
        [0, 2],
        [0, 1, 2],
        [1, 2],
      ],
    ],
    ["a footnote[^2]", three, [[1]]],
    ["not a source [4], [0], [2-9], [2020]", three, []],
    ["by id [handbook-7]", ["x", "handbook-7"], [[1]]],
    ["an author (Smith, 2020)", ["doe-2019", "smith-2020"], [[1]]],
    ["(see Smith et al., 2020, p. 4; Doe 2019)", ["doe-2019", "smith2020"], [[1, 0]]],
    ["Smith and Doe (2020) found", ["smith-2020"], [[0]]],
    ["nobody of that name (Thornbury, 1951)", ["smith-2020"], []],
    ["one of two (Smith, 2020)", ["smith-2020-a", "smith-2020-b"], []],
  ])("%s", (text, ids, expected) => {
    expect(sourcesIn(text, ids)).toEqual(expected);
  });

  it("blanks markers and nothing else, at the same length", () => {
    expect(
      blankMarkers(
        "It is long [1]. See [9].",
        findCitationMarkers("It is long [1]. See [9].", ["a"]),
      ),
    ).toBe("It is long    . See [9].");
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii", maxLength: 60 }), (text) => {
        const given = `${text} [1] (Smith, 2020) ${text}`;
        const blanked = blankMarkers(given, findCitationMarkers(given, ["smith-2020"]));
        expect(blanked).toHaveLength(given.length);
        expect(blanked.trimEnd().startsWith(text.trimEnd())).toBe(true);
      }),
    );
  });

  it("belong to the sentence they stand in or behind", () => {
    const text = "One is here [1]. Two is there.[2] Three is gone.";
    const markers = findCitationMarkers(text, ["a", "b"]);
    const blanked = blankMarkers(text, markers);
    const spans = ["One is here", "Two is there", "Three is gone"].map((sentence) => {
      const start = text.indexOf(sentence);
      return { start, end: start + sentence.length };
    });
    const citing = mapSentencesToSources(blanked, spans, markers);
    expect([...citing].map(([at, sources]) => [at, [...sources]])).toEqual([
      [0, [0]],
      [1, [1]],
    ]);
  });

  it("cost no more than their text, whatever it holds", () => {
    const ids = Array.from({ length: 64 }, (_, at) => `source-${at}`);
    const startedAt = cpuMs();
    for (const piece of ["[1]", "(Aaaa ", "A", "[", "(", "[1,1,1", "Smith (2020) ", "(((2020)"]) {
      findCitationMarkers(piece.repeat(65_536 / piece.length), ids);
    }
    expect(cpuMs() - startedAt).toBeLessThan(4000);
  });
});

describe("a text with markers", () => {
  const LEAVES =
    "Green leaves hold chloroplasts. Chloroplasts turn carbon dioxide and water into glucose " +
    "with the energy of sunlight, and set oxygen free. This is called photosynthesis.";
  const onBridge = "The engineer John Bradfield led the project of the Harbour Bridge";
  const onLeaves = "Chloroplasts of green leaves turn carbon dioxide into glucose with sunlight";
  const { vault, assessor } = openVault();
  const assess = (content: string) =>
    assessor.assess({ content, cited_sources: ["bridge", "leaves"] }, "acme");

  beforeAll(async () => {
    await vault.register([itemOf("bridge", BRIDGE), itemOf("leaves", LEAVES)], ACME);
  });

  it("passes when every sentence cites the page that speaks of it", () => {
    const finding = assess(`${onBridge} [1]. ${onLeaves} [2].`);
    expect(finding.reasonCode).toBe("");
    expect(finding.data.source_verified).toBe(true);
  });

  it("is a hard mismatch when markers are swapped, which the pages alone do not show", () => {
    expect(assess(`${onBridge}. ${onLeaves}.`).reasonCode).toBe("");
    const swapped = assess(`${onBridge} [2]. ${onLeaves} [1].`);
    expect(swapped.hardFailureCode).toBe("CITATION_MISMATCH");
    expect(swapped.data.is_hallucinated).toBe(true);
  });

  it("is doubted for one sentence that cites the wrong page among right ones", () => {
    const finding = assess(`${onBridge} [1]. ${onLeaves} [2]. ${onLeaves} [1].`);
    expect(finding).toMatchObject({ hardFailureCode: "", softFailureCode: "CITATION_DOUBTFUL" });
    expect(finding.data.reason).toBe("Sentence 3 cites `bridge`, which does not speak of it.");
  });

  it("needs only one of several sources of a sentence to speak of it", () => {
    expect(assess(`${onBridge} [1, 2]. ${onLeaves} [2].`).reasonCode).toBe("");
  });

  it("does not count the markers themselves as numbers or names", async () => {
    const { vault: other, assessor: plain } = openVault();
    await other.register([itemOf("leaves-smith-2020", LEAVES)], ACME);
    const cited_sources = ["leaves-smith-2020"];
    const riskOf = (content: string) => plain.measure({ content, cited_sources }, "acme")!.risk;
    expect(riskOf(`${onLeaves} [1] (Smith, 2020).`)).toBe(riskOf(`${onLeaves}.`));
    // A flood of markers hides nothing: beyond the first 512 they are numbers like any other.
    expect(riskOf(`${onLeaves} ${"[1]".repeat(600)}.`)).toBeGreaterThan(riskOf(`${onLeaves}.`));
    // What is no marker counts: the same words name no source of the request.
    expect(riskOf(`${onLeaves} [7] (Jones, 1951).`)).toBeGreaterThan(riskOf(`${onLeaves}.`));
  });
});

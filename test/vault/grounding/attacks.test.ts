// Ways around the grounding score, each with what is caught and what is not. Risks in 1/1024.
import { describe, expect, it } from "vitest";

import { ONE, RESULT_TOKENS, TOKENS_MAX } from "../../../assembly/grounding/layout.ts";
import { readGroundingNumbers } from "../../../src/vault/grounding/tables.ts";
import { BRIDGE } from "../_setup.ts";
import { openGrounding } from "./_setup.ts";
import { cpuMs } from "../../_patience.ts";

const { writer, reader } = openGrounding();
const bridge = writer.buildAndPublish(BRIDGE);
const { kinds, citation } = readGroundingNumbers();

const HONEST = "The engineer John Bradfield led the project and 1,400 labourers built the bridge.";
const INVENTED =
  "Margaret Thornbury designed the Wollongong viaduct in 1877 after bribing nine senators.";

const riskOf = (text: string, documents = [bridge]) =>
  reader.score(text, "", documents, kinds.summary.top_share)!.risk;
const windowOf = (text: string, document: number) => {
  reader.score(text, "", [document], ONE);
  return reader.readBestWindow(0);
};

describe("keyword stuffing", () => {
  it("caught: rare words of the source around an invention leave it standing out", () => {
    const rare = ["Bradfield bridge harbour labourers pounds loan.", "Bridge railway lanes."];
    const stuffed = rare.join(` ${INVENTED} `);
    expect(riskOf(stuffed)).toBeGreaterThan(riskOf(HONEST));
    expect(riskOf(stuffed)).toBeGreaterThan(kinds.summary.tau_lo);
  });

  it("not caught: an invention made only of words of the source, in another order", () => {
    const shuffled = "John Bradfield died and the labourers paid the loan back in 1932.";
    expect(riskOf(shuffled)).toBeLessThan(kinds.summary.tau_lo);
  });

  it("not caught: a negation or another verb in a true sentence", () => {
    const negated = "The engineer John Bradfield never led the project.";
    expect(riskOf(negated)).toBeLessThan(kinds.summary.tau_lo);
  });
});

describe("disguised characters", () => {
  const risk = riskOf(HONEST);
  const invented = riskOf(INVENTED);

  it.each([
    ["Cyrillic look-alikes", "аеорсхіѕ", "aeopcxis"],
    ["Greek look-alikes", "οκρτ", "okpt"],
  ])("caught: %s are the letters they imitate, and their words are counted", (...given) => {
    const [, disguises, letters] = given;
    let text = INVENTED;
    for (const [at, letter] of Array.from(letters).entries()) {
      text = text.replaceAll(letter, Array.from(disguises)[at]!);
    }
    expect(riskOf(text)).toBe(invented);
    expect(reader.score(text, "", [bridge], ONE)!.mixedWords).toBeGreaterThan(5);
  });

  it.each([
    ["full-width", (text: string) => shift(text, 0xfee0)],
    ["mathematical bold", (text: string) => bold(text)],
    ["accents as marks of their own", (text: string) => text.replaceAll("e", "e\u0301")],
    ["zero-width spaces and joiners", (text: string) => text.replaceAll("o", "\u200bo\u200d")],
    ["soft hyphens", (text: string) => text.replaceAll("a", "a\u00ad")],
  ])("caught: %s change nothing", (_name, disguise) => {
    expect(riskOf(disguise(HONEST))).toBe(risk);
    expect(riskOf(disguise(INVENTED))).toBe(invented);
  });

  it("not caught: spelling with digits, and letters apart", () => {
    expect(riskOf("Br4dfield l3d the pr0ject.")).not.toBe(riskOf("Bradfield led the project."));
    expect(riskOf("B r a d f i e l d")).toBe(0);
  });
});

describe("numbers in other notations", () => {
  const numbersOf = (text: string) => {
    reader.score(text, "", [bridge], ONE);
    return reader.viewSentenceRow(0)[4];
  };

  it.each([
    ["1,400 as 1400", "About 1400 labourers built it."],
    ["sixteen as 16", "Exactly 16 labourers died there."],
    ["6.25 as 6.25", "It cost 6.25 million pounds."],
    ["134 as 134.0", "The bridge is 134.0 metres high."],
    ["eight as 8", "There were 8 lanes of traffic."],
  ])("supported: %s", (_name, text) => {
    expect(numbersOf(text)).toBe(0);
  });

  it.each([
    ["another number", "About 1,500 labourers built it."],
    ["another fraction of the same whole", "It cost 6.75 million pounds."],
  ])("caught: %s", (_name, text) => {
    expect(numbersOf(text)).toBeGreaterThan(0);
  });

  it("a false alarm: a number written out in several words, or scaled (1.4 thousand)", () => {
    expect(numbersOf("About 1.4 thousand labourers built it.")).toBeGreaterThan(0);
  });

  it("not caught: a number of the source in the wrong place", () => {
    expect(numbersOf("About 134 labourers built it.")).toBe(0);
  });
});

describe("one huge document", () => {
  const vocabulary = Array.from({ length: 4000 }, (_, at) => `Item ${at} concerns ${word(at)}.`);
  const huge = writer.buildAndPublish(
    `${vocabulary.join(" ")} ${INVENTED.split(" ").join(" filler nothing. Plain ")}`,
  );

  it("caught: words scattered over a huge page do not make it speak of the claim", () => {
    reader.score(INVENTED, "", [huge], ONE);
    expect(reader.readContainedShare(0)).toBeGreaterThan(900);
    expect(reader.readBestWindow(0)).toBeLessThan(512);
  });

  it("not caught: a page that its owner filled with the claims themselves", () => {
    // Whoever may register evidence may register falsehoods: the right to write is the defence.
    const poisoned = writer.buildAndPublish(INVENTED);
    expect(windowOf(INVENTED, poisoned)).toBe(ONE);
    expect(windowOf(INVENTED, bridge)).toBeLessThan(citation.soft);
  });
});

describe("giant texts", () => {
  it("are cut at 64 Ki tokens, and sentences at 512", () => {
    const giant = "word ".repeat(TOKENS_MAX + 5000);
    const reading = reader.score(giant, "", [bridge], ONE)!;
    expect(reading.tokenCount).toBe(TOKENS_MAX);
    expect(reading.sentenceCount).toBe(TOKENS_MAX / 512);
    expect(RESULT_TOKENS).toBeGreaterThan(0);
  });

  it("cost in proportion to their length, whatever they hold", () => {
    const common = writer.buildAndPublish("bridge traffic. ".repeat(20_000));
    const timeOf = (count: number) => {
      const text = "Bridge traffic crosses. ".repeat(count);
      reader.score(text, "", [common], ONE);
      const startedAt = cpuMs();
      reader.score(text, "", [common], ONE);
      return cpuMs() - startedAt;
    };
    timeOf(1000);
    // Eight times the text; a quadratic scan would take 64 times as long.
    expect(timeOf(16_000)).toBeLessThan(timeOf(2000) * 40 + 20);
  });
});

function shift(text: string, by: number): string {
  return text.replaceAll(/[A-Za-z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + by));
}

function bold(text: string): string {
  return text.replaceAll(/[A-Za-z]/g, (letter) => {
    const isLower = letter >= "a";
    return String.fromCodePoint(
      (isLower ? 0x1d41a : 0x1d400) + letter.charCodeAt(0) - (isLower ? 97 : 65),
    );
  });
}

function word(at: number): string {
  return Array.from({ length: 6 }, (_, place) =>
    String.fromCharCode(97 + ((at * 7919 + place * 104_729 + ((at >> place) & 15)) % 26)),
  ).join("");
}

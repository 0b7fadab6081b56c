// The WASM scorer against the slow reference: the same integers for texts of all of Unicode.
import fc from "fast-check";
import { expect, test } from "vitest";

import { GroundingReader } from "../../../src/vault/grounding/grounding.ts";
import {
  FEATURES_COUNT,
  ROW_NUMBER,
  ROW_RISK,
  SENTENCE_ROWS_MAX,
} from "../../../assembly/grounding/layout.ts";
import { ReferenceEvidence } from "../../reference/grounding.ts";
import type { ReferenceScore } from "../../reference/grounding.ts";
import { openGrounding, openReference } from "./_setup.ts";

const TOP_SHARE = 614;
const RUNS = 10_000;

const { writer, reader } = openGrounding();
const reference = openReference(TOP_SHARE);

const WORDS = (
  "the The of Paris paris London 3 three 1,000 1000 4.5 4.0 5:30 not no don't cannot study " +
  "studies studied making makes café cafe O'Brien L'eau rock'n'roll 東京 東京都 カタカナ 한국어 " +
  "Москва МОСКВА соmpany company ｆｕｌｌ Ⅳ ½ ﬁnance 𝐁𝐨𝐥𝐝 𝟏𝟐 z\u200bero ze\u0301ro İstanbul ß " +
  "mention provided but however outdoor seating wifi 🙂 नमस्ते ١٢٣ AB12cd 007 0 running ran"
).split(" ");
const JOINTS = [" ", " ", " ", " ", "", ". ", ".\n", "\n", ", ", "! (", "? ", ' "', "-", "'", "。"];

const word = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 4 }) },
);
const text = fc
  .array(fc.tuple(word, fc.constantFrom(...JOINTS)), { maxLength: 24 })
  .map((parts) => parts.flat().join(""));
/** Lone surrogates and everything else that a UTF-16 string may hold. */
const anyUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
  .map((units) => String.fromCharCode(...units));
const anyText = fc.oneof({ weight: 5, arbitrary: text }, { weight: 1, arbitrary: anyUnits });
const leaves = fc
  .array(fc.tuple(fc.constantFrom("!", "?"), fc.constantFrom("wifi", "outdoor seating", "no", "")))
  .map((lines) => lines.map((line) => line.join("")).join("\n"));

/** Everything the module says of the last score, in the shape of `told`. */
function seen(reading: ReturnType<GroundingReader["score"]>, documents: number) {
  const kept = GroundingReader.countSentenceRows(reading!);
  const rows = Array.from({ length: kept }, (_, at) => {
    const row = reader.viewSentenceRow(at);
    return [Array.from(row.subarray(0, FEATURES_COUNT)), row[ROW_RISK], row[ROW_NUMBER]];
  });
  const at = Array.from({ length: documents }, (_, document) => document);
  const windows = at.map((document) => reader.readBestWindow(document));
  const contained = at.map((document) => reader.readContainedShare(document));
  return { reading: { ...reading }, rows, windows, contained };
}

function told(score: ReferenceScore) {
  const { worst, sentences, windows, contained } = score;
  const gap = worst?.unsupported;
  const rows = sentences
    .slice(0, SENTENCE_ROWS_MAX - 1)
    .map((each) => [each.features, each.z, each.sentence]);
  const reading = {
    sentenceCount: sentences.length,
    risk: score.risk,
    worst: worst?.z ?? 0,
    worstNumber: worst?.sentence ?? 0,
    worstStart: worst?.start ?? 0,
    worstEnd: worst?.end ?? 0,
    unsupportedKind: gap === undefined ? 0 : gap.isNumber ? 1 : 2,
    unsupportedStart: gap?.start ?? 0,
    unsupportedEnd: gap?.end ?? 0,
    isContradicted: worst?.isContradicted ?? false,
    mixedWords: score.mixed,
    tokenCount: score.tokenCount,
  };
  return { reading, rows, windows, contained };
}

test(`same integers as the reference on ${RUNS} random texts of all of Unicode`, () => {
  fc.assert(
    fc.property(anyText, anyText, anyText, text, leaves, (response, one, two, question, lines) => {
      const documents = [writer.buildAndPublish(one, lines), writer.buildAndPublish(two)];
      const evidence = [new ReferenceEvidence(one, lines), new ReferenceEvidence(two)];
      const reading = reader.score(response, question, documents, TOP_SHARE);
      expect(seen(reading, 2)).toEqual(told(reference.score(response, evidence, question)));
    }),
    { numRuns: RUNS },
  );
});

test("same integers where a sentence takes up a statement of a document with other numbers", () => {
  const piece = fc.constantFrom("revenue", "staff", "Tokyo", "million", "of", "4.2", "310", "9.7");
  const statements = fc
    .array(fc.array(piece, { minLength: 3, maxLength: 8 }), { minLength: 1, maxLength: 4 })
    .map((all) => all.map((each) => `The ${each.join(" ")}.`).join(" "));
  let contradictions = 0;
  fc.assert(
    fc.property(statements, statements, statements, (response, one, two) => {
      const documents = [writer.buildAndPublish(one), writer.buildAndPublish(two)];
      const evidence = [new ReferenceEvidence(one), new ReferenceEvidence(two)];
      const reading = reader.score(response, "", documents, TOP_SHARE);
      expect(seen(reading, 2)).toEqual(told(reference.score(response, evidence)));
      contradictions += reading!.isContradicted ? 1 : 0;
    }),
    { numRuns: 2000 },
  );
  expect(contradictions).toBeGreaterThan(50);
});

test("same integers where sentences, postings and words reach their limits", () => {
  const long = Array.from({ length: 1300 }, (_, at) => `word${at % 700}`).join(" ");
  const numbered = Array.from({ length: 300 }, (_, at) => `Item costs ${at} euros.`).join("\n");
  const many = Array.from({ length: 400 }, (_, at) => `Common item ${at}.`).join("\n");
  const wide = `${"x".repeat(60)} ${"9".repeat(60)}.5 ${"'".repeat(5)}`;
  for (const [response, document] of [
    [long, many],
    [many, long],
    [wide, wide],
    ["Item costs 999 euros.", numbered],
    [numbered, numbered.replaceAll("9", "7")],
    [`${many}\n${long}`, `${wide} ${many}`],
  ] as const) {
    const number = writer.buildAndPublish(document);
    const reading = reader.score(response, "", [number], TOP_SHARE);
    const expected = reference.score(response, [new ReferenceEvidence(document)]);
    expect(seen(reading, 1)).toEqual(told(expected));
  }
});

// The grounding module's surface and layout: exports and imports as declared, regions that do not
// overlap, the lists of words as the module reads them.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import * as layout from "../../../assembly/grounding/layout.ts";
import { stripMarkup, flattenDocument } from "../../../src/vault/grounding/flatten.ts";
import { cpuMs } from "../../_patience.ts";

const bytes = readFileSync(new URL("../../../build/grounding.wasm", import.meta.url));
const module = new WebAssembly.Module(bytes);

test("exports what the seam declares, imports nothing but the memory", () => {
  const names = WebAssembly.Module.exports(module).map(({ name }) => name);
  expect(names.toSorted()).toEqual(
    [
      "addWeight",
      "addWord",
      "buildDocument",
      "publishDocument",
      "freeDocument",
      "initialise",
      "memory",
      "openScratch",
      "score",
    ].toSorted(),
  );
  expect(WebAssembly.Module.imports(module)).toEqual([
    { module: "env", name: "memory", kind: "memory" },
  ]);
});

test("keeps its regions apart", () => {
  const regions: [at: number, bytes: number][] = [
    [layout.GROUNDING_HEADER, layout.NUMBERS_WEIGHTS + layout.FEATURES_COUNT * 4],
    [layout.GROUNDING_HEADER + layout.NUMBERS_ABSENT, 12],
    [layout.GROUNDING_HEADER + layout.NUMBERS_BLOCKS, layout.BLOCK_CLASSES * 4],
    [layout.GROUNDING_FOLDS, layout.FOLD_COUNT * 2],
    [layout.GROUNDING_CAPITALS, layout.FOLD_COUNT / 8],
    [layout.GROUNDING_LEXICON, 16 << layout.LEXICON_LOG2],
    [layout.GROUNDING_IDF, 8 << layout.IDF_LOG2],
    [layout.GROUNDING_DIRECTORY, layout.DOCUMENTS_MAX * 4],
    [layout.GROUNDING_HEAP, 0],
  ];
  expect(overlapsOf(regions)).toEqual([]);
  const scratch: [at: number, bytes: number][] = [
    [layout.SCRATCH_WORD, layout.WORD_UNITS_MAX * 2],
    [layout.SCRATCH_RESULT, layout.RESULT_WORDS * 4],
    [layout.SCRATCH_CITED, layout.DOCUMENTS_CITED_MAX * 4],
    [layout.SCRATCH_WINDOW, layout.DOCUMENTS_CITED_MAX * 4],
    [layout.SCRATCH_CONTAINED, layout.DOCUMENTS_CITED_MAX * 4],
    [layout.SCRATCH_TOKENS, layout.SENTENCE_TOKENS_MAX * 24],
    [layout.SCRATCH_DISTINCT, 1024 * 8],
    [layout.SCRATCH_STEMS, layout.SENTENCE_TOKENS_MAX * 16],
    [layout.SCRATCH_CLAUSE, 1024 * 8],
    [layout.SCRATCH_QUESTION, 2048 * 4],
    [layout.SCRATCH_INDEXES, layout.DOCUMENTS_CITED_MAX * 4],
    [layout.SCRATCH_ROWS, layout.SENTENCE_ROWS_MAX * layout.ROW_WORDS * 4],
    [layout.SCRATCH_SUMS, (layout.TOKENS_MAX + 1) * 4],
    [layout.SCRATCH_TEXT, layout.TEXT_UNITS_MAX * 2],
    [layout.SCRATCH_BYTES, 0],
  ];
  expect(overlapsOf(scratch)).toEqual([]);
});

function overlapsOf(regions: readonly [at: number, bytes: number][]): number[] {
  return regions.slice(1).flatMap(([next], at) => {
    const [start, size] = regions[at]!;
    return start + size > next ? [next] : [];
  });
}

test("flattens JSON: leaves apart, false and null ones kept out, times in both notations", () => {
  const value = {
    hours: { Monday: "17:30-23:0" },
    attributes: {
      WiFi: "free",
      OutdoorSeating: false,
      RestaurantsDelivery: null,
      RestaurantsTakeOut: true,
    },
  };
  const flat = flattenDocument(JSON.stringify(value), "application/json");
  expect(flat.isStructured).toBe(true);
  expect(flat.text.split("\n")).toEqual([
    "hours Monday: 17:30 5:30 PM 5 PM-23:00 11:00 PM 11 PM.",
    "attributes Wi Fi WiFi: free.",
    "attributes Restaurants Take Out: yes.",
  ]);
  expect(flat.leaves.split("\n")).toEqual(["!outdoor seating", "!outdoorseating", "?delivery"]);
});

test("takes tags, scripts and comments out of markup, whatever is left open", () => {
  const page = "<style>p{}</style><h1>One &amp; two</h1><p>three<!-- four --> &#53;<script>six";
  expect(stripMarkup(page).split(/\s+/).filter(Boolean)).toEqual(["One", "&", "two", "three", "5"]);
  const startedAt = cpuMs();
  for (const piece of ["<", "<!--", "<script", "&", "<p "]) stripMarkup(piece.repeat(200_000));
  expect(cpuMs() - startedAt).toBeLessThan(5000);
});

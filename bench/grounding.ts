// Microseconds and megabytes per second of scoring against text length, and of
// indexing against document length. Texts are made from a fixed seed. With `--vault N` also the
// cost of a verify without content beside N sources (grounding-vault.ts; `--seconds 0` leaves HTTP
// out). One JSON object on the last line of stdout.

import { parsed } from "./load/parsed.ts";
import { GroundingReader, GroundingWriter } from "../src/vault/grounding/grounding.ts";
import { createGroundingMemory } from "../src/vault/grounding/module.ts";
import { benchVault } from "./grounding-vault.ts";

const { values } = parsed(import.meta.filename, {
  options: {
    smoke: { type: "boolean", default: false },
    vault: { type: "string" },
    seconds: { type: "string", default: "4" },
  },
});
const ROUNDS = values.smoke ? 20 : 2000;
const DOCUMENT_LENGTH = 6000;
const LENGTHS = values.smoke ? [700, 7000] : [175, 700, 2800, 11_200, 44_800, 179_200];

/** Park and Miller's generator: the same texts on every machine. */
function generator(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

const random = generator(20_260_615);
const VOCABULARY = Array.from({ length: 3000 }, () =>
  Array.from({ length: 3 + Math.floor(random() * 7) }, () =>
    String.fromCharCode(97 + Math.floor(random() * 26)),
  ).join(""),
);

/** Sentences of words with Zipf frequencies, with names and numbers among them. */
function textOf(length: number): string {
  let text = "";
  while (text.length < length) {
    const words = Array.from({ length: 8 + Math.floor(random() * 14) }, () => {
      if (random() < 0.04) return String(Math.floor(random() * 3000));
      const word = VOCABULARY[Math.floor(random() ** 3 * VOCABULARY.length)]!;
      return random() < 0.08 ? word[0]!.toUpperCase() + word.slice(1) : word;
    });
    text += `The ${words.join(" ")} of it. `;
  }
  return text.slice(0, length);
}

function timesOf(rounds: number, work: () => void): number[] {
  for (let round = 0; round < Math.min(rounds, 200); round++) work();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    work();
    times.push((performance.now() - startedAt) * 1000);
  }
  return times.toSorted((a, b) => a - b);
}

const memory = createGroundingMemory();
const writer = new GroundingWriter(memory);
writer.installNumbersAndWeights();
const reader = new GroundingReader(memory);
const round = (value: number) => Math.round(value * 10) / 10;

const document = textOf(DOCUMENT_LENGTH);
const number = writer.buildAndPublish(document);
const scores = LENGTHS.map((length) => {
  const text = textOf(length);
  const rounds = Math.max(20, Math.round((ROUNDS * 700) / Math.max(700, length)));
  const times = timesOf(rounds, () => reader.score(text, "", [number], 1024));
  const p50 = times[times.length >> 1]!;
  const p99 = times[Math.floor(times.length * 0.99)]!;
  return { length, us_p50: round(p50), us_p99: round(p99), mb_per_second: round(length / p50) };
});
const indexes = LENGTHS.map((length) => {
  const text = textOf(length);
  const times = timesOf(Math.max(10, ROUNDS >> 6), () => writer.tryDiscard(writer.build(text)));
  return { length, us_p50: round(times[times.length >> 1]!) };
});
const vault =
  values.vault === undefined
    ? {}
    : { vault: await benchVault(Number(values.vault), Number(values.seconds)) };
const report = { document_length: DOCUMENT_LENGTH, scores, indexes, ...vault };
process.stdout.write(`${JSON.stringify(report)}\n`);

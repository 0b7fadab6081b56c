// One grounding memory per suite, with the shipped word lists and fixed numbers, and the reference
// scorer beside it under the same numbers.
import { GroundingReader, GroundingWriter } from "../../../src/vault/grounding/grounding.ts";
import { createGroundingMemory } from "../../../src/vault/grounding/module.ts";
import { readGroundingNumbers, readStemWeights } from "../../../src/vault/grounding/tables.ts";
import { ReferenceScorer } from "../../reference/grounding.ts";

/** A writer and a reader of a new memory under the shipped numbers. */
export function openGrounding() {
  const memory = createGroundingMemory();
  const writer = new GroundingWriter(memory);
  writer.installNumbersAndWeights();
  return { memory, writer, reader: new GroundingReader(memory) };
}

/** The reference under the shipped numbers and a share of the two worst sentences. */
export function openReference(topShare: number): ReferenceScorer {
  const numbers = readGroundingNumbers();
  return new ReferenceScorer({
    weights: numbers.weights,
    bias: numbers.bias,
    text: numbers.text,
    topShare,
    idf: new Map(readStemWeights()),
    idfUnseen: numbers.idf_unseen,
  });
}

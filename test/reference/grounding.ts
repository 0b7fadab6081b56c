// Slow, obvious grounding scorer: maps and sets, one document at a time. The WASM module must give
// the same integers. Fractions are in 1/1024, weights of words in 1/16.
import { LEAF_STEMS_MAX, LEAVES_MAX, POSTINGS_MAX } from "../../assembly/grounding/layout.ts";
import { FACTS_MAX } from "../../assembly/grounding/layout.ts";
import { SALT_PAIR, SALT_PREFIX, SALT_WHOLE } from "../../assembly/grounding/layout.ts";
import { contradictions, distinctOf, hasOtherNumber, isOnlyRefusal } from "./grounding-claims.ts";
import { tokensOf } from "./grounding-tokens.ts";
import type { Token } from "./grounding-tokens.ts";

const ONE = 1024;
const STEMS_MAX = 512;
const QUESTION_TOKENS_MAX = 1024;
/** Distinct stems below which a sentence does not tell which document it belongs to. */
const CITATION_STEMS_MIN = 5;

export interface ReferenceNumbers {
  weights: number[];
  bias: number;
  /** Of the whole text: weights of absent words and facts, least risk of a contradiction. */
  text: { absent: number; facts: number; contradicted: number };
  /** Share of the two worst sentences in the risk, the rest being the mean of all; of 1024. */
  topShare: number;
  idf: Map<number, number>;
  idfUnseen: number;
}

interface Leaf {
  stems: Set<number>;
  kind: string;
}

/** Keys as the module makes them: a collision of hashes is a collision here too. */
const keyOf = (hash: number) => hash >>> 0 || 1;
const prefixKey = (prefix: number) => keyOf(prefix ^ SALT_PREFIX);
const wholeKey = (whole: number) => keyOf(whole ^ SALT_WHOLE);
const pairKey = (left: Token, right: Token) =>
  keyOf(Math.imul(left.stem ^ SALT_PAIR, 0x9e3779b1) + right.stem);

/** One indexed document. `leaves` lists what is false (!) or unknown (?), one per line. */
export class ReferenceEvidence {
  readonly sentences = new Map<number, number[]>();
  readonly keys = new Set<number>();
  readonly leaves: Leaf[] = [];
  /** One entry for each number of each sentence, in order, cut like postings. */
  readonly numbered: number[] = [];

  constructor(text: string, leaves = "") {
    const tokens = tokensOf(text);
    tokens.forEach((token, at) => {
      this.keys.add(token.stem);
      this.keys.add(token.isNumber ? wholeKey(token.prefix) : prefixKey(token.prefix));
      if (at > 0) this.keys.add(pairKey(tokens[at - 1]!, token));
      if (!token.isNumber && !token.isContent) return;
      const found = this.sentences.get(token.stem) ?? [];
      if (found.at(-1) !== token.sentence && found.length < POSTINGS_MAX) {
        found.push(token.sentence);
        const hasRoom = this.numbered.length < POSTINGS_MAX;
        if (token.isNumber && hasRoom) this.numbered.push(token.sentence);
      }
      this.sentences.set(token.stem, found);
    });
    for (const line of leaves.split("\n").slice(0, LEAVES_MAX)) {
      const words = tokensOf(line)
        .slice(0, STEMS_MAX)
        .filter((token) => token.isContent);
      const stems = new Set(words.map((token) => token.stem));
      const isUsable = stems.size > 0 && stems.size <= LEAF_STEMS_MAX;
      if (isUsable) this.leaves.push({ stems, kind: line[0]! });
    }
  }

  holdsStem(token: Token): boolean {
    return this.keys.has(token.stem);
  }

  holdsWord(token: Token): boolean {
    return this.keys.has(token.stem) || (!token.isNumber && this.keys.has(prefixKey(token.prefix)));
  }

  holdsNumber(token: Token): boolean {
    return this.keys.has(token.stem) || (token.isRound && this.keys.has(wholeKey(token.prefix)));
  }
}

export interface ReferenceSentence {
  features: number[];
  z: number;
  /** First number, else first name, that no document holds; undefined when all are held. */
  unsupported: Token | undefined;
  /** Absent numbers and names, tokens that no document holds, all tokens. */
  facts: number;
  absent: number;
  tokens: number;
  isContradicted: boolean;
  sentence: number;
  start: number;
  end: number;
}

export interface ReferenceScore {
  tokenCount: number;
  risk: number;
  sentences: ReferenceSentence[];
  /** The sentence to name: the first contradicted one, else the worst. */
  worst: ReferenceSentence | undefined;
  /** Per document: best share of a sentence's weight in two neighbouring sentences; anywhere. */
  windows: number[];
  contained: number[];
  mixed: number;
}

interface Citations {
  windows: number[];
  contained: number[];
}

export class ReferenceScorer {
  readonly numbers: ReferenceNumbers;
  readonly #weightOf = (stem: number) => this.numbers.idf.get(stem) ?? this.numbers.idfUnseen;

  constructor(numbers: ReferenceNumbers) {
    this.numbers = numbers;
  }

  score(text: string, documents: ReferenceEvidence[], question = ""): ReferenceScore {
    const known = new Set(
      tokensOf(question)
        .slice(0, QUESTION_TOKENS_MAX)
        .map((token) => token.stem),
    );
    const tokens = tokensOf(text);
    const count = (tokens.at(-1)?.sentence ?? -1) + 1;
    const sentences: ReferenceSentence[] = [];
    const citations: Citations = {
      windows: documents.map(() => -1),
      contained: documents.map(() => -1),
    };
    for (let at = 0; at < count; at++) {
      const own = tokens.filter((token) => token.sentence === at);
      const pieces = own.filter((token) => token.isContent || token.isNumber);
      if (pieces.length < 2 || isOnlyRefusal(own)) continue;
      sentences.push(this.#scoreSentence(own, documents, known, citations));
    }
    const mixed = tokens.filter((token) => token.isMixed).length;
    const tokenCount = tokens.length;
    return { ...this.#aggregate(sentences), tokenCount, sentences, ...citations, mixed };
  }

  #aggregate(sentences: ReferenceSentence[]) {
    if (sentences.length === 0) return { risk: 0, worst: undefined };
    const sorted = sentences.toSorted((a, b) => b.z - a.z);
    const [first, second = first] = sorted.map((each) => each.z) as [number, number?];
    const mean = Math.trunc(sentences.reduce((sum, each) => sum + each.z, 0) / sentences.length);
    const { topShare } = this.numbers;
    const mixed = (((first + second) >> 1) * topShare + mean * (ONE - topShare)) >> 10;
    const total = (count: (each: ReferenceSentence) => number) =>
      sentences.reduce((sum, each) => sum + count(each), 0);
    const { absent, facts, contradicted } = this.numbers.text;
    const share = Math.floor((total((each) => each.absent) * ONE) / total((each) => each.tokens));
    const counted =
      (Math.min(
        total((each) => each.facts),
        FACTS_MAX,
      ) *
        ONE) /
      FACTS_MAX;
    const risk = mixed + ((share * absent + counted * facts) >> 10);
    const against = sentences.find((each) => each.isContradicted);
    return {
      risk: against === undefined ? risk : Math.max(risk, contradicted),
      worst: against ?? sorted[0],
    };
  }

  #scoreSentence(
    own: Token[],
    documents: ReferenceEvidence[],
    known: Set<number>,
    citations: Citations,
  ): ReferenceSentence {
    const any = (test: (document: ReferenceEvidence) => boolean) => documents.some(test);
    const isAsked = (token: Token) => known.has(token.stem);
    const content = own.filter((token) => token.isContent);
    const novel = content.filter(
      (token) => !isAsked(token) && !any((each) => each.holdsWord(token)),
    ).length;
    const numbers = own.filter(
      (token) => token.isNumber && !isAsked(token) && !any((each) => each.holdsNumber(token)),
    );
    const names = own.filter(
      (token) => token.isName && !isAsked(token) && !any((each) => each.holdsStem(token)),
    );
    const share = (part: number, whole: number) =>
      whole === 0 ? 0 : Math.floor((part * ONE) / whole);
    const { supported, found } = this.#support(own, documents, known, citations);
    const covered = own.filter((_token, at) => {
      const pair = (from: number) =>
        from >= 0 &&
        from + 1 < own.length &&
        any((each) => each.keys.has(pairKey(own[from]!, own[from + 1]!)));
      return pair(at - 1) || pair(at);
    }).length;
    const features = [
      share(novel, Math.max(content.length, 1)),
      share(Math.min(novel, 6), 6),
      ONE - supported,
      ONE - found,
      Math.min(numbers.length, 2) * 512,
      Math.min(names.length, 2) * 512,
      ONE - share(covered, own.length),
      Math.min(contradictions(own, documents), 2) * 512,
    ];
    const { weights, bias } = this.numbers;
    const sum = features.reduce((total, value, at) => total + value * weights[at]!, 0);
    const unsupported = numbers[0] ?? names[0];
    const { sentence, start } = own[0]!;
    const { end } = own.at(-1)!;
    return {
      features,
      z: (sum >> 10) + bias,
      unsupported,
      facts: numbers.length + names.length,
      absent: own.filter((token) => !any((each) => each.holdsStem(token))).length,
      tokens: own.length,
      isContradicted:
        numbers.length > 0 &&
        any((each) => hasOtherNumber(distinctOf(own, known), each, this.#weightOf)),
      sentence,
      start,
      end,
    };
  }

  /** Of the weight of distinct stems: found in the best two neighbours, and anywhere. */
  #support(
    own: Token[],
    documents: ReferenceEvidence[],
    known: Set<number>,
    citations: Citations,
  ): { supported: number; found: number } {
    const sum = (tokens: Token[]) =>
      tokens.reduce((total, token) => total + this.#weightOf(token.stem), 0);
    const all = distinctOf(own, known);
    const total = sum(all);
    if (total === 0) return { supported: ONE, found: ONE };
    const share = (part: number) => Math.floor((part * ONE) / total);
    let best = 0;
    documents.forEach((each, at) => {
      const windows = new Map<number, number>();
      for (const token of all) {
        const touched = new Set<number>();
        for (const place of each.sentences.get(token.stem) ?? []) {
          touched.add(place).add(place - 1);
        }
        for (const place of touched) {
          windows.set(place, (windows.get(place) ?? 0) + this.#weightOf(token.stem));
        }
      }
      const window = Math.max(0, ...windows.values());
      best = Math.max(best, window);
      if (all.length < CITATION_STEMS_MIN) return;
      const held = sum(all.filter((token) => each.holdsWord(token)));
      citations.windows[at] = Math.max(citations.windows[at]!, share(window));
      citations.contained[at] = Math.max(citations.contained[at]!, share(held));
    });
    const found = sum(all.filter((token) => documents.some((each) => each.holdsWord(token))));
    return { supported: share(best), found: share(found) };
  }
}

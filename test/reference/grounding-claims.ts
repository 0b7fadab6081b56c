// Claims of one sentence for the reference scorer: refusals, statements that a document makes with
// another number, leaves that are asserted although they are false.
import { STATEMENT_SHARE_MIN, STATEMENT_STEMS_MIN } from "../../assembly/grounding/layout.ts";
import type { ReferenceEvidence } from "./grounding.ts";
import type { Token } from "./grounding-tokens.ts";

const ONE = 1024;
const STEMS_MAX = 512;

/** A refusal that says nothing besides: no fact, no second half. */
export const isOnlyRefusal = (tokens: Token[]) =>
  isRefusal(tokens) && !tokens.some((token) => token.isNumber || token.isName || token.isContrast);

const isRefusal = (tokens: Token[]) =>
  tokens.some((token) => token.isNegation) && tokens.some((token) => token.isRefusal);

/** Whether the document's sentence that makes the same statement has another number. */
export function hasOtherNumber(
  distinct: Token[],
  document: ReferenceEvidence,
  weightOf: (stem: number) => number,
): boolean {
  const words = distinct.filter((token) => !token.isNumber);
  const total = words.reduce((sum, { stem }) => sum + weightOf(stem), 0);
  const sums = new Map<number, number>();
  let best = { sum: 0, place: -1 };
  for (const { stem } of words) {
    for (const place of document.sentences.get(stem) ?? []) {
      const sum = (sums.get(place) ?? 0) + weightOf(stem);
      sums.set(place, sum);
      if (sum > best.sum) best = { sum, place };
    }
  }
  if (words.length < STATEMENT_STEMS_MIN || best.place < 0) return false;
  if (best.sum * ONE < total * STATEMENT_SHARE_MIN) return false;
  const all = document.numbered.filter((place) => place === best.place).length;
  const shared = distinct.filter(
    (token) => token.isNumber && document.sentences.get(token.stem)?.includes(best.place),
  );
  return all > shared.length;
}

/** Content words and numbers that the question does not hold, each stem once. */
export function distinctOf(own: Token[], known: Set<number>): Token[] {
  const distinct = new Map<number, Token>();
  for (const token of own) {
    if ((!token.isContent && !token.isNumber) || known.has(token.stem)) continue;
    if (distinct.size < STEMS_MAX && !distinct.has(token.stem)) distinct.set(token.stem, token);
  }
  return [...distinct.values()];
}

/** Leaves that a clause asserts although the document says false or nothing, or denies. */
export function contradictions(own: Token[], documents: ReferenceEvidence[]): number {
  let found = 0;
  for (const clause of clausesOf(own)) {
    const stems = new Set(clause.map((token) => token.stem));
    const isNegated = clause.some((token) => token.isNegation);
    for (const leaf of documents.flatMap((each) => each.leaves)) {
      if (isNegated && (leaf.kind === "!" || isRefusal(clause))) continue;
      if ([...leaf.stems].every((stem) => stems.has(stem))) found += 1;
    }
  }
  return found;
}

function clausesOf(own: Token[]): Token[][] {
  const clauses: Token[][] = [[]];
  for (const token of own) {
    if (token.isContrast) clauses.push([]);
    clauses.at(-1)!.push(token);
  }
  return clauses;
}

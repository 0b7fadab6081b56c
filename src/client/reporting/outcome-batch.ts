// Batches of outcomes for `POST /v1/outcomes/batch`: split at the service's limits, and its answers
// read back as one result per outcome.
import { BATCH_ITEMS_MAX, OUTCOME_BATCH_BYTES_MAX } from "../../contract/limits.ts";
import type { OutcomeReceipt, OutcomeRequest } from "../messages.ts";
import { TrustRankError } from "../errors.ts";
import { readReceipt } from "../read-reply.ts";
import { parseProblemError, createMalformedReplyError } from "../transport.ts";

/** Result of one reported outcome. */
export type OutcomeResult =
  | { readonly receipt: OutcomeReceipt; readonly error?: never }
  | { readonly error: TrustRankError; readonly receipt?: never };

/**
 * An outcome that its reporter has signed alone: its carrier to the service cannot change it, and
 * needs no key. Made by `signOutcome`.
 */
export interface SignedOutcome {
  /** The exact text that was signed. */
  readonly body: string;
  /** Value of an `X-JWS-Signature` over it. */
  readonly signature: string;
}

export interface OutcomeBatch {
  /** JSON text of an array. */
  readonly body: string;
  /** Its items have signatures of their own: the whole must not have one. */
  readonly isSigned: boolean;
  /** Every item has an id: sent twice, each counts once. */
  readonly isIdentified: boolean;
  /** Indexes of its outcomes, in order. */
  readonly indexes: readonly number[];
}

const encoder = new TextEncoder();
/** `[` and `]`; each item counts its comma. */
const BRACKETS = 2;

type IndexedOutcome = readonly [index: number, outcome: OutcomeRequest | SignedOutcome];

/**
 * The outcomes in as few bodies as the service takes, in order; those with signatures of their own
 * apart when the others are to be signed as a whole. An outcome that cannot be written as JSON gets
 * its result at once.
 */
export function splitOutcomesIntoBatches(
  outcomes: readonly (OutcomeRequest | SignedOutcome)[],
  isWholeSigned: boolean,
  results: OutcomeResult[],
): OutcomeBatch[] {
  const all = [...outcomes.entries()];
  if (!isWholeSigned) return fillBatches(all, false, results);
  const signed = all.filter(([, outcome]) => isSignedOutcome(outcome));
  const plain = all.filter(([, outcome]) => !isSignedOutcome(outcome));
  return [...fillBatches(plain, false, results), ...fillBatches(signed, true, results)];
}

function isSignedOutcome(outcome: OutcomeRequest | SignedOutcome): boolean {
  return typeof outcome === "object" && outcome !== null && Object.hasOwn(outcome, "signature");
}

function fillBatches(
  items: readonly IndexedOutcome[],
  isSigned: boolean,
  results: OutcomeResult[],
): OutcomeBatch[] {
  const batches: OutcomeBatch[] = [];
  let texts: string[] = [];
  let indexes: number[] = [];
  let bytes = BRACKETS;
  let isIdentified = true;
  const close = () => {
    const body = `[${texts.join(",")}]`;
    if (texts.length > 0) batches.push({ body, indexes, isSigned, isIdentified });
    texts = [];
    indexes = [];
    isIdentified = true;
    bytes = BRACKETS;
  };
  for (const [index, outcome] of items) {
    let text: string;
    try {
      text = JSON.stringify(outcome) ?? "null";
    } catch (cause) {
      const error = new TrustRankError("invalid_argument", "an outcome is no JSON", { cause });
      results[index] = { error };
      continue;
    }
    const added = encoder.encode(text).byteLength + 1;
    if (texts.length === BATCH_ITEMS_MAX || bytes + added > OUTCOME_BATCH_BYTES_MAX) close();
    texts.push(text);
    indexes.push(index);
    isIdentified &&=
      isSignedOutcome(outcome) || (outcome as OutcomeRequest | null)?.id !== undefined;
    bytes += added;
  }
  close();
  return batches;
}

/**
 * One result per outcome of a batch.
 * @throws TrustRankError `malformed_reply`.
 */
export function readOutcomeBatch(value: unknown, count: number): OutcomeResult[] {
  const items: unknown =
    typeof value === "object" && value !== null ? Reflect.get(value, "items") : undefined;
  if (!Array.isArray(items) || items.length !== count) {
    throw createMalformedReplyError(`\`items\` does not hold ${count} results`);
  }
  return items.map((item: unknown) => {
    const { status, result, problem } = (item ?? {}) as Record<string, unknown>;
    if (status === 200 || status === 201) return { receipt: readReceipt(result) };
    const error = typeof status === "number" ? parseProblemError(problem, status) : undefined;
    if (error === undefined)
      throw createMalformedReplyError("an item is neither a receipt nor a problem");
    return { error };
  });
}

// Many outcomes as bodies of `POST /v1/outcomes/batch`: split where the service would refuse, and
// its answers read back as one result per outcome.
import { BATCH_ITEMS_MAX, OUTCOME_BATCH_BYTES_MAX } from "../contract/limits.ts";
import type { OutcomeReceipt, OutcomeRequest } from "../contract/messages.ts";
import { TrustRankError } from "./errors.ts";
import { readReceipt } from "./read-reply.ts";
import { errorOfProblem, malformed } from "./transport.ts";

/** What became of one reported outcome. */
export type OutcomeResult =
  | { readonly receipt: OutcomeReceipt; readonly error?: never }
  | { readonly error: TrustRankError; readonly receipt?: never };

export interface OutcomeBatch {
  /** JSON text of an array. */
  readonly body: string;
  /** Which of the outcomes it holds, in order. */
  readonly indexes: readonly number[];
}

const encoder = new TextEncoder();
/** `[` and `]`; each item counts its comma. */
const BRACKETS = 2;

/**
 * The outcomes in as few bodies as the service takes, order kept. What cannot be written as JSON
 * gets its result at once.
 */
export function batchesOf(
  outcomes: readonly OutcomeRequest[],
  results: OutcomeResult[],
): OutcomeBatch[] {
  const batches: OutcomeBatch[] = [];
  let texts: string[] = [];
  let indexes: number[] = [];
  let bytes = BRACKETS;
  const close = () => {
    if (texts.length > 0) batches.push({ body: `[${texts.join(",")}]`, indexes });
    texts = [];
    indexes = [];
    bytes = BRACKETS;
  };
  for (const [index, outcome] of outcomes.entries()) {
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
    bytes += added;
  }
  close();
  return batches;
}

/** One result per outcome of a batch, or TrustRankError `malformed_reply`. */
export function readOutcomeBatch(value: unknown, count: number): OutcomeResult[] {
  const items: unknown =
    typeof value === "object" && value !== null ? Reflect.get(value, "items") : undefined;
  if (!Array.isArray(items) || items.length !== count) {
    throw malformed(`\`items\` does not hold ${count} results`);
  }
  return items.map((item: unknown) => {
    const { status, result, problem } = (item ?? {}) as Record<string, unknown>;
    if (status === 200 || status === 201) return { receipt: readReceipt(result) };
    const error = typeof status === "number" ? errorOfProblem(problem, status) : undefined;
    if (error === undefined) throw malformed("an item is neither a receipt nor a problem");
    return { error };
  });
}

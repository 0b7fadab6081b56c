// Provenance reports: content and sources of an agent's answers, sent afterwards (SPEC §4.9,
// post-transaction). Asynchronous, and without effect on the request.
import type { ProvenanceRecord } from "../messages.ts";
import { DeliveryQueue, type DroppedItem } from "./delivery-queue.ts";
import { convertToTrustRankError, type TrustRankError } from "../errors.ts";
import { callSafely } from "../outage-alert.ts";

/** A provenance record, by the hash of the content or by the text itself. */
export type ProvenanceInput = Omit<ProvenanceRecord, "content_hash"> &
  (
    | { readonly content_hash: string; readonly content?: never }
    /** Hashed here: the text itself is not sent. */
    | { readonly content: string | Uint8Array; readonly content_hash?: never }
  );

/** Receiver of records: a TrustRankClient. */
export interface ProvenanceRecorder {
  recordProvenance(record: ProvenanceInput, options: { signal: AbortSignal }): Promise<unknown>;
}

export interface ProvenanceQueueOptions {
  /** Called at every attempt. */
  readonly client: () => ProvenanceRecorder;
  /** Records waiting; the next one is dropped. Default 1,000. */
  readonly queuedMax?: number | undefined;
  /** Attempts per record; default 5. */
  readonly attemptsMax?: number | undefined;
  /** First pause between attempts, doubled each time, milliseconds; default 200. */
  readonly pauseMs?: number | undefined;
  /** Called for every dropped record, in place of a warning once for each cause. */
  readonly onDrop?: ((drop: ProvenanceDrop) => void | Promise<void>) | undefined;
}

/** A dropped record, with the reason. */
export interface ProvenanceDrop {
  readonly record: ProvenanceInput;
  readonly why: DroppedItem<ProvenanceInput>["why"];
  readonly error?: TrustRankError;
}

/** Records under way at once. */
const CONCURRENT_RECORDS_MAX = 8;

/**
 * A queue of provenance records: `offer` returns at once and never throws. A record whose answer
 * got lost is sent again, and may then be in the log twice: in an audit trail a duplicate is better
 * than a gap.
 */
export class ProvenanceQueue extends DeliveryQueue<ProvenanceInput> {
  constructor(options: ProvenanceQueueOptions) {
    const { client, onDrop, ...limits } = options;
    super({
      ...limits,
      itemName: "a provenance record",
      togetherMax: CONCURRENT_RECORDS_MAX,
      send: (records, signal) =>
        Promise.all(
          records.map(async (record) => {
            try {
              await client().recordProvenance(record, { signal });
              return undefined;
            } catch (thrown) {
              return convertToTrustRankError(thrown);
            }
          }),
        ),
      onDrop: onDrop && (({ item: record, ...drop }) => callSafely(onDrop, { record, ...drop })),
    });
  }
}

/** The record as sent. Rejects where the platform has no WebCrypto. */
export async function buildProvenanceRecord(input: ProvenanceInput): Promise<ProvenanceRecord> {
  const { content, ...members } = input;
  if (content === undefined) return members as ProvenanceRecord;
  return { ...members, content_hash: await contentHash(content) };
}

/** `content_hash` of a text: SHA-256 over its UTF-8, as the service writes it. */
export async function contentHash(content: string | Uint8Array): Promise<string> {
  // Copied: the digest takes no shared memory.
  const bytes =
    typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `sha256:${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

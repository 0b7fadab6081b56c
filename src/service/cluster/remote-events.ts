// Records of other nodes, told to the parts of this process that keep it in memory. Events
// that come before a part is open wait for it.
import { decodePolicyEvent } from "../../policy/policy-book.ts";
import { type ConditionEvent, decodeConditionEvent } from "../../contract/conditions/events.ts";
import type { ReviewEvent } from "../../contract/reviews/events.ts";
import type { StoredKey } from "../../http/access/key-file.ts";
import type { PolicyEvent } from "../../contract/policy.ts";
import { FRAME_KINDS } from "../../journal/format.ts";
import type { FramePlace } from "../../journal/places.ts";
import type { RemoteEvent } from "../../ledger/ordered/apply.ts";
import { isVaultEvent } from "../../vault/sources/events.ts";

/** Parts that learn; each gets its events in order. */
export interface RemoteEventHandlers {
  access(stored: StoredKey): void;
  /** A change of the live weights, and its position. */
  weights(payload: Uint8Array, lsn: number): void;
  policy(event: PolicyEvent): void;
  condition(event: ConditionEvent): void;
  review(event: ReviewEvent): void;
  /** An event of reporters' keys or of namespaces. */
  registry(payload: Uint8Array): void;
  source(payload: Uint8Array, place: FramePlace): void;
}

/** The key in a payload of kind `access`. */
export function parseStoredKey(payload: Uint8Array): StoredKey {
  return JSON.parse(Buffer.from(payload).toString()) as StoredKey;
}

export class RemoteEventRouter {
  #learners: RemoteEventHandlers | undefined;
  #early: RemoteEvent[] = [];
  readonly #onError: (detail: string) => void;

  /** `onError`: an event that could not be taken; the ones after it are taken all the same. */
  constructor(onError: (detail: string) => void) {
    this.#onError = onError;
  }

  readonly take = (events: readonly RemoteEvent[]): void => {
    if (this.#learners === undefined) {
      this.#early.push(...events);
      return;
    }
    for (const event of events) this.#tell(this.#learners, event);
  };

  /** From here on every event is told at once. */
  attach(learners: RemoteEventHandlers): void {
    this.#learners = learners;
    this.take(this.#early.splice(0));
  }

  #tell(learners: RemoteEventHandlers, { kind, payload, place, lsn }: RemoteEvent): void {
    try {
      if (kind === FRAME_KINDS.access) learners.access(parseStoredKey(payload));
      else if (kind === FRAME_KINDS.config) learners.weights(payload, lsn);
      else if (kind === FRAME_KINDS.policy) learners.policy(decodePolicyEvent(payload));
      else if (kind === FRAME_KINDS.condition) learners.condition(decodeConditionEvent(payload));
      else if (kind === FRAME_KINDS.reviewEvent) {
        learners.review(JSON.parse(Buffer.from(payload).toString()) as ReviewEvent);
      } else if (kind === FRAME_KINDS.key || kind === FRAME_KINDS.namespace) {
        learners.registry(payload);
      } else if (kind === FRAME_KINDS.evidence && isVaultEvent(Buffer.from(payload))) {
        learners.source(payload, place);
      }
    } catch (error) {
      this.#onError(`record ${lsn} of another node: ${(error as Error).message}`);
    }
  }
}

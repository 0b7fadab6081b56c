// Queue of outcomes for the service. Each has an id before it is first sent, so that a repeat after
// a lost answer counts once.
import { BATCH_ITEMS_MAX } from "../../contract/limits.ts";
import type { OutcomeRequest } from "../messages.ts";
import type { TrustRankClient } from "../client.ts";
import { DeliveryQueue, type DroppedItem } from "./delivery-queue.ts";
import type { TrustRankError } from "../errors.ts";
import { callSafely } from "../outage-alert.ts";
import { readWallClockMs } from "../runtime.ts";
import { createUuidV7 } from "./uuid.ts";

export interface OutcomeQueueOptions {
  /** Called at every attempt. */
  readonly client: () => TrustRankClient;
  /** Outcomes waiting; the next one is dropped. Default 1,000. */
  readonly queuedMax?: number | undefined;
  /** Attempts per outcome; default 5. */
  readonly attemptsMax?: number | undefined;
  /** First pause between attempts, doubled each time, milliseconds; default 200. */
  readonly pauseMs?: number | undefined;
  /** Called for every dropped outcome, in place of a warning once for each cause. */
  readonly onDrop?: ((drop: OutcomeDrop) => void | Promise<void>) | undefined;
}

/** A dropped outcome, with the reason. */
export interface OutcomeDrop {
  readonly outcome: OutcomeRequest;
  readonly why: DroppedItem<OutcomeRequest>["why"];
  readonly error?: TrustRankError;
}

/**
 * A queue of outcomes: `offer` returns at once and never throws; waiting outcomes are sent in
 * batches, under one signature each when the client has a signer.
 */
export class OutcomeQueue extends DeliveryQueue<OutcomeRequest> {
  constructor(options: OutcomeQueueOptions) {
    const { client, onDrop, ...limits } = options;
    super({
      ...limits,
      itemName: "an outcome",
      togetherMax: BATCH_ITEMS_MAX,
      async send(outcomes, signal) {
        const results = await client().reportOutcomes(outcomes, { signal });
        return results.map(({ error }) => error);
      },
      onDrop: onDrop && (({ item: outcome, ...drop }) => callSafely(onDrop, { outcome, ...drop })),
    });
  }

  override offer(outcome: OutcomeRequest): void {
    super.offer({ ...outcome, id: outcome.id ?? createUuidV7(readWallClockMs()) });
  }
}

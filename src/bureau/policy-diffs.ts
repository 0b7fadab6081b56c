// Use case of `POST /v1/policy/diff`: a draft policy judged on the newest logged verdicts of a tenant. One comparison at a
// time, in slices between which other requests are answered.
import { SerialQueue } from "../concurrency/serial-queue.ts";
import type { DecisionFilter } from "../contract/decisions.ts";
import type { Policy } from "../contract/policy.ts";
import type { ReplayableLeg } from "../contract/schemas/decisions.ts";
import type { PolicyDiff } from "../contract/schemas/policy-diff.ts";
import { createActivePolicy } from "../policy/active-policy.ts";
import type { ReplayServices } from "./decisions/replay.ts";
import { VerdictComparison } from "./decisions/verdict-comparison.ts";

/** Entries that are read at a time, and that are judged in one turn of the event loop. */
const PAGE_ENTRIES = 500;
const SLICE_ENTRIES = 50;

interface PolicyDiffsOptions {
  readonly services: ReplayServices;
  /** Logged decisions with their inputs, the newest first. */
  readonly listDecisions: (filter: DecisionFilter) => Promise<ReplayableLeg[]>;
  /** Resolves in a later turn of the event loop. */
  readonly nextTurn: () => Promise<void>;
}

/** A tenant's draft, and how many of its newest verifies to judge again. */
export interface PolicyDiffOrder {
  readonly tenant: string;
  readonly policy: Policy;
  readonly last: number;
}

export class PolicyDiffs {
  readonly #options: PolicyDiffsOptions;
  readonly #queue = new SerialQueue();

  constructor(options: PolicyDiffsOptions) {
    this.#options = options;
  }

  /** Resolves with the verdicts that the draft would change. */
  compare(order: PolicyDiffOrder): Promise<PolicyDiff> {
    return this.#queue.run(() => this.#compare(order));
  }

  async #compare({ tenant, policy, last }: PolicyDiffOrder): Promise<PolicyDiff> {
    const { services, listDecisions, nextTurn } = this.#options;
    const comparison = new VerdictComparison(services, createActivePolicy(policy));
    let before: DecisionFilter["before"];
    for (let left = last; left > 0;) {
      const limit = Math.min(PAGE_ENTRIES, left);
      const place = before === undefined ? {} : { before };
      const legs = await listDecisions({ tenant, kind: "verify", limit, ...place });
      for (let from = 0; from < legs.length; from += SLICE_ENTRIES) {
        comparison.add(legs.slice(from, from + SLICE_ENTRIES));
        await nextTurn();
      }
      const oldest = legs.at(-1);
      if (oldest === undefined || legs.length < limit) break;
      left -= legs.length;
      const { request_id: requestId, leg } = oldest;
      before = { evaluatedMs: Date.parse(oldest.evaluated_at), requestId, leg };
    }
    return comparison.finish();
  }
}

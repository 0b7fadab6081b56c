// Messages between the main thread, which is HTTP thread 0, and the further HTTP threads.
import type { VerifyContext } from "../../contract/schemas/scores.ts";
import type { MessagePort } from "node:worker_threads";
import type { StoredCondition } from "../../contract/conditions/book.ts";
import type { ConditionEvent } from "../../contract/conditions/events.ts";
import type { RegistryEvent } from "../../contract/namespaces.ts";
import type { PolicyEvent } from "../../contract/policy.ts";
import type { ReviewCalls, ReviewUpdate, ReviewRuling } from "../../contract/reviews/events.ts";
import type { ChangeNews } from "../../http/changes/log.ts";
import type { SharedLag } from "../../http/access/lag-guard.ts";
import type { RefusalBatch } from "../../http/access/refusals.ts";
import type { StoredKey } from "../../http/access/key-file.ts";
import type { SeriesCounts, ThreadCounts } from "../../http/metrics/recorder.ts";
import type { RateLimits } from "../../http/access/rate-limits.ts";
import type { HttpAdapterName, Reply, RequestHead } from "../../http/server/port.ts";
import type { HttpLogger } from "../../http/services.ts";
import type { WatchedBatch, WatchShares } from "../../http/request-watch.ts";
import type { VerifyBatchResult, VerifyBatchTask } from "../../http/codec/verify-batch.ts";
import type { LedgerPortTransfer } from "../../ledger/port-transfer.ts";
import type { VaultFinding } from "../../vault/assessment/findings.ts";
import type { VaultMemory } from "../../vault/memory.ts";
import type { CallReply } from "../../concurrency/calls.ts";

/** Start data of a further thread. */
export interface HttpThreadData {
  /** 1 for the first beside the main thread. */
  readonly number: number;
  readonly host: string;
  readonly port: number;
  readonly version: string;
  readonly engineMemory: WebAssembly.Memory;
  readonly vaultMemory: VaultMemory;
  /** Its port is transferred. */
  readonly ledger: LedgerPortTransfer;
  readonly decisionRing: SharedArrayBuffer;
  readonly decisionBudget: SharedArrayBuffer;
  /** In which calls of agents are counted and stakes held; left out: none are. */
  readonly activityMemory?: SharedArrayBuffer;
  readonly keys: readonly StoredKey[];
  readonly adminKey: string | undefined;
  /** Journal payloads of the policies so far, in order. */
  readonly policies: readonly Uint8Array[];
  /** Conditions and stops that stand. */
  readonly conditions: readonly StoredCondition[];
  /** What people have decided so far. */
  readonly reviews: readonly ReviewRuling[];
  readonly adapter: HttpAdapterName;
  /** Journal payloads of reporters' keys and of namespaces so far, in order. */
  readonly keyEvents: readonly Uint8Array[];
  /** Open connections of this thread. */
  readonly connectionsMax: number;
  readonly rateLimits: RateLimits;
  readonly queueMsMax: number;
  readonly bucketMemory: SharedArrayBuffer;
  /** In which it finds how far behind its cluster this node is; undefined: there is none. */
  readonly lag?: SharedLag | undefined;
  /** In which it finds the quotas of tenants. */
  readonly quotaMemory: SharedArrayBuffer;
  /** In which it counts usage. */
  readonly usageMemory: SharedArrayBuffer;
  readonly isReservedEnabled: boolean;
  readonly isSignatureRequired: boolean;
  /** Body size in bytes from which batches go to the pool; undefined: all are scored in place. */
  readonly poolBytesMin: number | undefined;
  /** Which requests are watched; undefined: none. */
  readonly watch: WatchShares | undefined;
  /** Whether lines of the level `debug` are wanted. */
  readonly isDebugLogged: boolean;
  /** One word, raised after every message that must be applied before the next request. */
  readonly doorbell: SharedArrayBuffer;
}

/** Calls of a further thread to the main one. */
export type HttpThreadCall =
  | { readonly name: "relay"; readonly head: RequestHead; readonly body: Uint8Array }
  | { readonly name: "score"; readonly task: VerifyBatchTask }
  | { readonly name: "assess"; readonly context: VerifyContext; readonly tenant: string };

/** A reply as it crosses: a streamed body comes on a port. */
export type RelayedReply = Omit<Reply, "stream"> & { readonly stream?: MessagePort };

export interface HttpThreadCallResults {
  readonly relay: RelayedReply;
  readonly score: VerifyBatchResult;
  readonly assess: VaultFinding;
}

export type MessageToHttpThread =
  | { readonly kind: "listen" }
  | { readonly kind: "key"; readonly stored: StoredKey }
  | { readonly kind: "policy"; readonly event: PolicyEvent }
  | { readonly kind: "condition"; readonly event: ConditionEvent }
  | { readonly kind: "registry"; readonly event: RegistryEvent }
  | { readonly kind: "review"; readonly news: ReviewUpdate }
  | { readonly kind: "changes"; readonly news: ChangeNews }
  | { readonly kind: "table"; readonly engineMemory: WebAssembly.Memory }
  | { readonly kind: "count"; readonly id: number }
  | { readonly kind: "pulse"; readonly id: number }
  | { readonly kind: "answer"; readonly id: number; readonly answer: CallReply }
  | { readonly kind: "drain" }
  | { readonly kind: "stop" }
  | { readonly kind: "close"; readonly graceMs: number };

export type MessageFromHttpThread =
  | { readonly kind: "ready" }
  | { readonly kind: "listening" }
  | { readonly kind: "question"; readonly id: number; readonly question: HttpThreadCall }
  | { readonly kind: "counts"; readonly id: number; readonly counts: ThreadCounts | SeriesCounts }
  | {
      readonly kind: "log";
      readonly level: keyof HttpLogger;
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>> | undefined;
    }
  | { readonly kind: "watched"; readonly batch: WatchedBatch }
  | { readonly kind: "refused"; readonly refusals: RefusalBatch }
  /** Calls that wait for a person. */
  | { readonly kind: "asked"; readonly asked: readonly ReviewCalls[] }
  /** The thread cannot be trusted with requests any more, or never could. */
  | { readonly kind: "broken"; readonly detail: string }
  | { readonly kind: "closed" };

/** Bytes that own their buffer, so that it can move; a piece of a larger one is copied out. */
export function ensureTransferable(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  return isWhole ? new Uint8Array(buffer) : new Uint8Array(bytes);
}

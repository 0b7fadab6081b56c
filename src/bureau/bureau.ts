// Port of the bureau: the calls that HTTP routes, gateways and tests may make. No HTTP, no SQL, no
// memory offsets. Reads are synchronous by design (ARCHITECTURE: the numbered path).
import type { DecisionReplay, ReplayableLeg } from "../contract/schemas/decisions.ts";
import type { DecisionTrace } from "../contract/schemas/trace.ts";
import type { RequestFacts } from "../contract/actions.ts";
import type { ScoringConfig } from "../engine/config.ts";
import type { Objection } from "../contract/schemas/disputes.ts";
import type { AgentExplanation } from "../contract/schemas/scores.ts";
import type { ServiceFault } from "../contract/faults.ts";
import type { Principal } from "../contract/principal.ts";
import type {
  ImportedOutcome,
  OutcomeReceipt,
  OutcomeRequest,
} from "../contract/schemas/outcomes.ts";
import type {
  CheckRequest,
  CheckResponse,
  HandshakeRequest,
  HandshakeResponse,
  VerifyRequest,
  VerifyResponse,
} from "../contract/schemas/scores.ts";

import type { SignedBody } from "./reporters/signed-body.ts";

/** Context of one call, beside its message. */
export interface CallContext {
  readonly requestId: string;
  readonly principal: Principal;
  /** Trace that the request is part of: 32 hexadecimal digits in lower case; empty for none. */
  readonly traceId?: string;
  /** What a policy's `actions` read of the request, as received; absent: the members of the message itself. */
  readonly facts?: RequestFacts | undefined;
  /** False where the request named no tool level and its transport filled in L3. */
  readonly isLevelNamed?: boolean;
  /** One of a batch: its stakes are held, but it counts as no call of the agent. */
  readonly isBatched?: boolean;
}

export interface OutcomeContext extends CallContext {
  /** The exact received bytes; kept as evidence. */
  readonly body: Uint8Array;
  /** `Idempotency-Key`, scoped per API key. */
  readonly idempotencyKey: string | undefined;
  readonly traceparent: string | undefined;
  /** The signature that came with the body, its form and its key checked. */
  readonly signed?: SignedBody | undefined;
}

/**
 * One item of an import: its receipt, or the fault for which the row was refused. Order is kept.
 */
export type ImportResult = OutcomeReceipt | ServiceFault;

/**
 * Reads return at once on the calling thread; `recordOutcome` resolves when the outcome is durable.
 * Every call may throw (or reject with) a ServiceFault, the only error that a transport answers.
 */
export interface Bureau {
  /**
   * Verdict on one request of an agent (SPEC §4.1). Returns a promise for the reserved agent
   * `agent://test/slow` and for a text too large to be assessed in place; a plain value otherwise.
   */
  verify(request: VerifyRequest, call: CallContext): VerifyResponse | Promise<VerifyResponse>;
  /** Whether the tenant's policy lists `actions`: then a request need not name a tool level. */
  listsActions(tenant: string): boolean;
  /** One agent at given stakes (SPEC §4.3). Returns a promise only for `agent://test/slow`. */
  check(request: CheckRequest, call: CallContext): CheckResponse | Promise<CheckResponse>;
  /** Both directions of a connection (SPEC §4.2), O(1). Promise as in `check`. */
  handshake(
    request: HandshakeRequest,
    call: CallContext,
  ): HandshakeResponse | Promise<HandshakeResponse>;
  /**
   * Records one outcome (SPEC §4.4). Resolves once it is journaled, synced and folded.
   * @throws ServiceFault when the outcome is not acceptable or the journal takes none.
   */
  recordOutcome(request: OutcomeRequest, call: OutcomeContext): Promise<OutcomeReceipt>;
  /**
   * Records a batch. Resolves with one item per row, order kept, each a receipt or a fault.
   * @throws ServiceFault when the batch is refused as a whole.
   */
  recordOutcomeBatch(
    rows: readonly (OutcomeRequest | ServiceFault)[],
    call: OutcomeContext,
  ): Promise<ImportResult[]>;
  /**
   * Operators' bulk load (`trustrank import`): bureau-signed, free of the age limit, `source` kept
   * with every row. A row may say which tenant reported it and whether it counts as first-party: the fault
   * `insufficient_scope` for one that does without the scope `admin`. Resolves with one result per row,
   * never all-or-nothing.
   * @throws ServiceFault when the journal cannot take outcomes at all.
   */
  importOutcomes(
    requests: readonly ImportedOutcome[],
    source: string,
    call: CallContext,
  ): Promise<ImportResult[]>;
  /** Inputs behind an agent's score, and changes that would raise it. Never cached. */
  explainScore(agentId: string, call: CallContext): AgentExplanation;
  /** What counts against an agent, the weightiest first, in sentences for its own people. */
  listObjections(explanation: AgentExplanation): Objection[];
  /**
   * Judges a logged decision again, under the active config or the one named.
   * @throws ServiceFault `not_found` when no config of that name is held.
   */
  replayDecision(legs: readonly ReplayableLeg[], configVersion: string | undefined): DecisionReplay;
  /** Why a logged decision came out as it did, from its record and the config that it names. */
  traceDecision(legs: readonly ReplayableLeg[], config: ScoringConfig | undefined): DecisionTrace;
  /** Whether decisions can be judged again under a config. */
  holdsConfig(configVersion: string): boolean;
}

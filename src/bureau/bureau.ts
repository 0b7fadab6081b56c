// The service seen from its transports: what HTTP routes, gateways and tests may ask. No HTTP, no
// SQL, no memory offsets. Reads are synchronous by design (ARCHITECTURE: the numbered path).
import type { DecisionReplay, ReplayableLeg } from "../contract/schemas/decisions.ts";
import type { AgentExplanation } from "../contract/schemas/scores.ts";
import type { ServiceFault } from "../contract/faults.ts";
import type {
  CheckRequest,
  CheckResponse,
  HandshakeRequest,
  HandshakeResponse,
  OutcomeReceipt,
  OutcomeRequest,
  Principal,
  VerifyRequest,
  VerifyResponse,
} from "../contract/messages.ts";

import type { SignedBody } from "./reporters/signed-body.ts";

/** What every call carries besides its message. */
export interface CallContext {
  readonly requestId: string;
  readonly principal: Principal;
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

/** One item of an import: its receipt, or why the row was not taken. Order is kept. */
export type ImportResult = OutcomeReceipt | ServiceFault;

/** All reads return at once; `recordOutcome` resolves when the outcome is durable. */
export interface Bureau {
  /** SPEC §4.1. A promise only for the reserved agent `agent://test/slow`. */
  verify(request: VerifyRequest, call: CallContext): VerifyResponse | Promise<VerifyResponse>;
  /** SPEC §4.3. */
  check(request: CheckRequest, call: CallContext): CheckResponse | Promise<CheckResponse>;
  /** SPEC §4.2: both directions, O(1). */
  handshake(
    request: HandshakeRequest,
    call: CallContext,
  ): HandshakeResponse | Promise<HandshakeResponse>;
  /** SPEC §4.4. Rejects with a ServiceFault; resolves once journaled, synced and folded. */
  recordOutcome(request: OutcomeRequest, call: OutcomeContext): Promise<OutcomeReceipt>;
  /** One item per row, order kept, each a receipt or a fault; rejects only as a whole. */
  recordOutcomeBatch(
    rows: readonly (OutcomeRequest | ServiceFault)[],
    call: OutcomeContext,
  ): Promise<ImportResult[]>;
  /**
   * Operators' bulk load (`trustrank import`): bureau-signed, free of the age limit, `source` kept
   * with every row. One result per row, never all-or-nothing; rejects only as a whole when the
   * journal cannot take evidence.
   */
  importOutcomes(
    requests: readonly OutcomeRequest[],
    source: string,
    call: CallContext,
  ): Promise<ImportResult[]>;
  /** Why an agent scores as it does. Never cached. */
  explain(agentId: string, call: CallContext): AgentExplanation;
  /**
   * Judges a logged decision again, under the active config or the one named. Throws ServiceFault
   * `not_found` when no config of that name is held.
   */
  replay(legs: readonly ReplayableLeg[], configVersion: string | undefined): DecisionReplay;
}

// Reads a batch of outcomes from bytes to journal records, on one thread: its rows, whose
// signatures they carry, and which of them are acceptable. Makes nothing durable and calls no other
// thread: reporters' keys are folded here from the same events as everywhere.
import { ServiceFault } from "../../contract/faults.ts";
import type { OutcomeRequest } from "../../contract/schemas/outcomes.ts";
import {
  isSignedOutcomeItem,
  type OutcomeOrFault,
  parseOutcome,
  parseOutcomeBatch,
  type SignedOutcomeItem,
} from "../../contract/parse/outcome-batch.ts";
import type { BatchEvidence, OutcomeRecord } from "../../journal/records.ts";
import type { CallContext, ImportResult } from "../bureau.ts";
import { KeyRegistry } from "../reporters/key-registry.ts";
import type { OutcomeIdGenerator } from "../services.ts";
import { attestRecord, attestRow } from "./attestation.ts";
import {
  buildRecordOrFault,
  findSignerVoice,
  findUnsignedFault,
  type OutcomeSender,
  attachReporterSignature,
} from "./record.ts";
import type { SignatureVerifier } from "../reporters/reporters.ts";
import { SignedBody, type SignatureRules } from "../reporters/signed-body.ts";

/** A batch as received. */
export interface OutcomeBatchBody {
  readonly body: Uint8Array;
  /** One value per line; else a JSON array. */
  readonly isLines: boolean;
  /** `X-JWS-Signature` over all of it. */
  readonly signature: string | undefined;
}

/** Records whole batches. Resolves with one result per row, order kept, once durable and folded. */
export interface OutcomeIntake {
  /** @throws ServiceFault when the batch is refused as a whole. */
  record(document: OutcomeBatchBody, call: CallContext): Promise<ImportResult[]>;
}

/** A batch as it crosses to another thread: plain data only. */
export interface OutcomeIntakeTask extends OutcomeBatchBody, Readonly<OutcomeSender> {
  readonly serviceId: string;
  readonly isSignatureRequired: boolean;
  readonly rememberedSinceMs: number;
  /** Epoch ms. */
  readonly nowMs: number;
}

/** Record of a row, or the fault for which it is refused. */
type RecordOrFault = OutcomeRecord | ServiceFault;

export interface ReadBatchResult {
  readonly rows: readonly RecordOrFault[];
  /** Signed bytes that precede the rows in the journal, where one signature covers all of them. */
  readonly evidence: Omit<BatchEvidence, "evidenceId"> | undefined;
}

/** Reads batches; one per thread. `verify` is the thread's own. */
export class OutcomeBatchReader {
  readonly #registry = new KeyRegistry();
  readonly #services: { readonly outcomeIds: OutcomeIdGenerator };
  readonly #verify: SignatureVerifier;
  /** Number of key events folded so far. */
  keyEventCount = 0;

  constructor(outcomeIds: OutcomeIdGenerator, verify: SignatureVerifier) {
    this.#services = { outcomeIds };
    this.#verify = verify;
  }

  /** Folds the next event of the reporters' registry (payload of a record of kind `key` or `namespace`). */
  applyRegistryEvent(payload: Uint8Array): void {
    this.#registry.applyPayload(payload);
    this.keyEventCount += 1;
  }

  /**
   * Reads one batch. Resolves with one row per item, order kept.
   * @throws ServiceFault when the batch is refused as a whole.
   */
  async read(task: OutcomeIntakeTask): Promise<ReadBatchResult> {
    const rules: SignatureRules = {
      serviceId: task.serviceId,
      registry: this.#registry,
      clock: () => task.nowMs,
      rememberedSinceMs: () => task.rememberedSinceMs,
      verify: this.#verify,
    };
    const body = Buffer.from(task.body.buffer, task.body.byteOffset, task.body.byteLength);
    if (task.signature !== undefined) return this.#readSigned(task, body, rules, task.signature);
    const rows = parseOutcomeBatch(body, task.isLines);
    if (task.isSignatureRequired && !rows.some(isSignedOutcomeItem))
      throw createSignatureRequiredFault();
    const read = (row: OutcomeOrFault): RecordOrFault | Promise<RecordOrFault> => {
      if (row instanceof ServiceFault) return row;
      if (isSignedOutcomeItem(row)) return this.#readSignedItem(task, row, rules);
      if (task.isSignatureRequired) return createSignatureRequiredFault();
      const fault = findUnsignedFault(this.#registry, row, task, task.nowMs);
      return fault ?? buildRecordOrFault(this.#services, row, task, task.nowMs);
    };
    // All items start their verification before the first is awaited: they form one batch.
    return { rows: await awaitRowsInOrder(rows.map(read)), evidence: undefined };
  }

  /** One signature over all: the signed bytes are kept once, the rows refer to them. */
  async #readSigned(
    task: OutcomeIntakeTask,
    body: Buffer,
    rules: SignatureRules,
    header: string,
  ): Promise<ReadBatchResult> {
    const signed = new SignedBody(rules, header, body);
    const parsed = parseOutcomeBatch(body, task.isLines);
    const records = parsed.map((row) => this.#readUnsignedRow(task, row, signed));
    signed.assertFresh();
    await signed.verifySignature();
    const requests = parsed as readonly OutcomeRequest[];
    const rows = await awaitRowsInOrder(
      records.map((row, at) => attestRow(row, requests[at]!, rules)),
    );
    if (rows.every((row) => row instanceof ServiceFault)) return { rows, evidence: undefined };
    const { kid, jti, protectedText, signature } = signed.jws;
    const recordedAtMs = task.nowMs;
    return { rows, evidence: { kid, jti, protectedText, signature, recordedAtMs, body } };
  }

  #readUnsignedRow(
    task: OutcomeIntakeTask,
    row: OutcomeOrFault,
    signed: SignedBody,
  ): OutcomeRecord | ServiceFault {
    if (row instanceof ServiceFault) return row;
    // A signed item inside a signed batch would have two signers: sign either the whole or its
    // items.
    if (isSignedOutcomeItem(row)) {
      return new ServiceFault("invalid_request", "a signed item cannot stand in a signed batch");
    }
    const fault = signed.findReporterFault(row.reporter);
    if (fault !== undefined) return fault;
    const record = buildRecordOrFault(this.#services, row, task, task.nowMs);
    if (record instanceof ServiceFault) return record;
    const signerVoice = findSignerVoice(this.#registry, row.reporter, task);
    return signerVoice === undefined ? record : { ...record, signerVoice };
  }

  /** The checks of an outcome that comes alone, in the same order. */
  async #readSignedItem(
    task: OutcomeIntakeTask,
    item: SignedOutcomeItem,
    rules: SignatureRules,
  ): Promise<OutcomeRecord | ServiceFault> {
    try {
      const signed = new SignedBody(rules, item.signature, item.body);
      const request: OutcomeRequest = parseOutcome(item.body);
      signed.assertReporter(request.reporter);
      const record = buildRecordOrFault(this.#services, request, task, task.nowMs);
      if (record instanceof ServiceFault) return record;
      signed.assertFresh();
      await signed.verifySignature();
      await attestRecord(record, request, rules);
      const signerVoice = findSignerVoice(this.#registry, record.reporter, task);
      attachReporterSignature(record, signed, signerVoice);
      return record;
    } catch (thrown) {
      if (thrown instanceof ServiceFault) return thrown;
      throw thrown;
    }
  }
}

/** Avoids a thousand promises for a thousand rows that are there already. */
async function awaitRowsInOrder(
  rows: readonly (RecordOrFault | Promise<RecordOrFault>)[],
): Promise<RecordOrFault[]> {
  const settled: RecordOrFault[] = [];
  for (const row of rows) settled.push(row instanceof Promise ? await row : row);
  return settled;
}

function createSignatureRequiredFault(): ServiceFault {
  return new ServiceFault("signature_required", "send `x-jws-signature`");
}

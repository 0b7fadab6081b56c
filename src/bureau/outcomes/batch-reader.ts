// Reads a batch of outcomes from bytes to journal records, on one thread: its rows, whose
// signatures they carry, and which of them are acceptable. Makes nothing durable and calls no other
// thread: reporters' keys are folded here from the same events as everywhere.
import { ServiceFault } from "../../contract/faults.ts";
import type { OutcomeRequest } from "../../contract/schemas/outcomes.ts";
import {
  isSignedItem,
  type OutcomeRow,
  parseOutcome,
  parseOutcomeBatch,
  type SignedItem,
} from "../../contract/parse/outcome-batch.ts";
import type { BatchEvidence, OutcomeRecord } from "../../journal/records.ts";
import type { CallContext, ImportResult } from "../bureau.ts";
import { KeyRegistry } from "../reporters/key-registry.ts";
import type { RegistryEvent } from "../../contract/namespaces.ts";
import type { OutcomeIds } from "../services.ts";
import { acceptableOutcome, reporterFault, type Sender, signBy } from "./record.ts";
import type { SignatureVerifier } from "../reporters/reporters.ts";
import { SignedBody, type SigningRules } from "../reporters/signed-body.ts";

/** A batch as received. */
export interface BatchDocument {
  readonly body: Uint8Array;
  /** One value per line; else a JSON array. */
  readonly isLines: boolean;
  /** `X-JWS-Signature` over all of it. */
  readonly signature: string | undefined;
}

/** Records whole batches. Resolves with one result per row, order kept, once durable and folded. */
export interface OutcomeIntake {
  /** @throws ServiceFault when the batch is refused as a whole. */
  record(document: BatchDocument, call: CallContext): Promise<ImportResult[]>;
}

/** A batch as it crosses to another thread: plain data only. */
export interface IntakeTask extends BatchDocument, Readonly<Sender> {
  readonly serviceId: string;
  readonly isSignatureRequired: boolean;
  readonly rememberedSinceMs: number;
  /** Epoch ms. */
  readonly nowMs: number;
}

/** Record of a row, or the fault for which it is refused. */
type Row = OutcomeRecord | ServiceFault;

export interface ReadBatch {
  readonly rows: readonly Row[];
  /** Signed bytes that precede the rows in the journal, where one signature covers all of them. */
  readonly evidence: Omit<BatchEvidence, "evidenceId"> | undefined;
}

/** Reads batches; one per thread. `verify` is the thread's own. */
export class BatchReader {
  readonly #registry = new KeyRegistry();
  readonly #services: { readonly outcomeIds: OutcomeIds };
  readonly #verify: SignatureVerifier;
  /** Number of key events folded so far. */
  keyEventCount = 0;

  constructor(outcomeIds: OutcomeIds, verify: SignatureVerifier) {
    this.#services = { outcomeIds };
    this.#verify = verify;
  }

  /** Folds the next event of the reporters' registry (payload of a record of kind `key` or `namespace`). */
  learn(payload: Uint8Array): void {
    this.#registry.apply(JSON.parse(Buffer.from(payload).toString()) as RegistryEvent);
    this.keyEventCount += 1;
  }

  /**
   * Reads one batch. Resolves with one row per item, order kept.
   * @throws ServiceFault when the batch is refused as a whole.
   */
  async read(task: IntakeTask): Promise<ReadBatch> {
    const rules: SigningRules = {
      serviceId: task.serviceId,
      registry: this.#registry,
      clock: () => task.nowMs,
      rememberedSinceMs: () => task.rememberedSinceMs,
      verify: this.#verify,
    };
    const body = Buffer.from(task.body.buffer, task.body.byteOffset, task.body.byteLength);
    if (task.signature !== undefined) return this.#readSigned(task, body, rules, task.signature);
    const rows = parseOutcomeBatch(body, task.isLines);
    if (task.isSignatureRequired && !rows.some(isSignedItem)) throw unsigned();
    const read = (row: OutcomeRow): Row | Promise<Row> => {
      if (row instanceof ServiceFault) return row;
      if (isSignedItem(row)) return this.#item(task, row, rules);
      if (task.isSignatureRequired) return unsigned();
      const fault = reporterFault(this.#registry.owners, row.reporter, task);
      return fault ?? acceptableOutcome(this.#services, row, task, task.nowMs);
    };
    // All items start their verification before the first is awaited: they form one batch.
    return { rows: await inOrder(rows.map(read)), evidence: undefined };
  }

  /** One signature over all: the signed bytes are kept once, the rows refer to them. */
  async #readSigned(
    task: IntakeTask,
    body: Buffer,
    rules: SigningRules,
    header: string,
  ): Promise<ReadBatch> {
    const signed = new SignedBody(rules, header, body);
    const rows = parseOutcomeBatch(body, task.isLines).map((row) => this.#rowOf(task, row, signed));
    signed.assertFresh();
    await signed.prove();
    if (rows.every((row) => row instanceof ServiceFault)) return { rows, evidence: undefined };
    const { kid, jti, protectedText, signature } = signed.jws;
    const recordedAtMs = task.nowMs;
    return { rows, evidence: { kid, jti, protectedText, signature, recordedAtMs, body } };
  }

  #rowOf(task: IntakeTask, row: OutcomeRow, signed: SignedBody): OutcomeRecord | ServiceFault {
    if (row instanceof ServiceFault) return row;
    // A signed item inside a signed batch would have two signers: sign either the whole or its
    // items.
    if (isSignedItem(row)) {
      return new ServiceFault("invalid_request", "a signed item cannot stand in a signed batch");
    }
    const fault = signed.reporterFault(row.reporter);
    return fault ?? acceptableOutcome(this.#services, row, task, task.nowMs);
  }

  /** The checks of an outcome that comes alone, in the same order. */
  async #item(
    task: IntakeTask,
    item: SignedItem,
    rules: SigningRules,
  ): Promise<OutcomeRecord | ServiceFault> {
    try {
      const signed = new SignedBody(rules, item.signature, item.body);
      const request: OutcomeRequest = parseOutcome(item.body);
      signed.assertReporter(request.reporter);
      const record = acceptableOutcome(this.#services, request, task, task.nowMs);
      if (record instanceof ServiceFault) return record;
      signed.assertFresh();
      await signed.prove();
      signBy(record, signed);
      return record;
    } catch (thrown) {
      if (thrown instanceof ServiceFault) return thrown;
      throw thrown;
    }
  }
}

/** Avoids a thousand promises for a thousand rows that are there already. */
async function inOrder(rows: readonly (Row | Promise<Row>)[]): Promise<Row[]> {
  const settled: Row[] = [];
  for (const row of rows) settled.push(row instanceof Promise ? await row : row);
  return settled;
}

function unsigned(): ServiceFault {
  return new ServiceFault("signature_required", "send `x-jws-signature`");
}

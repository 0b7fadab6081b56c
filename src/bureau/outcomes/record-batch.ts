// Use case of `POST /v1/outcomes/batch`: many outcomes under one signature, or under none. The
// signed bytes are made durable once, before the rows that refer to them; each row is judged alone.
import { ServiceFault } from "../../contract/faults.ts";
import type { OutcomeReceipt, OutcomeRequest } from "../../contract/schemas/outcomes.ts";
import type { OutcomeContext } from "../bureau.ts";
import type { BureauServices } from "../services.ts";
import { attestRow } from "./attestation.ts";
import { findEarlierBatchItems } from "./earlier-receipts.ts";
import {
  buildRecordOrFault,
  catchRowFault,
  findSignerVoice,
  findUnsignedFault,
  selectOutcomeSender,
  settleStakes,
} from "./record.ts";
import type { SignedBody } from "../reporters/signed-body.ts";

/** A row's receipt, or the fault for which it was refused. */
export type ReceiptOrFault = OutcomeReceipt | ServiceFault;

/**
 * Records a batch. Resolves with one item per row, order kept; a row that could not be read arrives
 * as its fault and is passed through.
 * @throws ServiceFault when the signature does not hold or the journal takes no outcomes.
 */
export async function recordOutcomeBatch(
  services: BureauServices,
  rows: readonly (OutcomeRequest | ServiceFault)[],
  call: OutcomeContext,
): Promise<ReceiptOrFault[]> {
  const { signed } = call;
  const nowMs = services.clock();
  const sender = selectOutcomeSender(call.principal, services);
  let records = rows.map((row) => {
    if (row instanceof ServiceFault) return row;
    const fault =
      signed === undefined
        ? findUnsignedFault(services.registry, row, sender, nowMs)
        : signed.findReporterFault(row.reporter);
    return fault ?? buildRecordOrFault(services, row, sender, nowMs);
  });
  let evidenceId = "";
  if (signed !== undefined) {
    signed.assertFresh();
    await signed.verifySignature();
    const earlier = await signed.findEarlierRecords();
    const faults = records.map((record) => (record instanceof ServiceFault ? record : undefined));
    const items =
      earlier === undefined ? undefined : await findEarlierBatchItems(signed, earlier, faults);
    if (items !== undefined) return items;
    const { rules } = signed;
    const requests = rows as readonly OutcomeRequest[];
    records = await Promise.all(
      records.map(async (row, at) => attestRow(row, requests[at]!, rules)),
    );
    const isWorthKeeping = records.some((record) => !(record instanceof ServiceFault));
    if (isWorthKeeping) evidenceId = await appendBatchEvidence(services, signed, nowMs);
  }
  return Promise.all(
    records.map(async (record, index) => {
      if (record instanceof ServiceFault) return record;
      if (signed !== undefined) {
        const { kid, jti } = signed.jws;
        record.signature = "reporter";
        const signerVoice = findSignerVoice(services.registry, record.reporter, sender);
        if (signerVoice !== undefined) record.signerVoice = signerVoice;
        record.proof = { kind: "batch", kid, jti, evidenceId, index };
        record.idempotencyKey ||= `jws\n${kid}\n${jti}\n${index}`;
      }
      const receipt = await services.ledger.append(record).catch(catchRowFault);
      if (!(receipt instanceof ServiceFault)) {
        settleStakes(services, (rows[index] as OutcomeRequest).subject, record);
      }
      if (signed === undefined || receipt instanceof ServiceFault) return receipt;
      return { ...receipt, evidence_id: evidenceId, evidence_index: index };
    }),
  );
}

function appendBatchEvidence(
  services: BureauServices,
  signed: SignedBody,
  recordedAtMs: number,
): Promise<string> {
  const { kid, jti, protectedText, signature } = signed.jws;
  const { body } = signed;
  return services.events.appendEvidence({ kid, jti, protectedText, signature, recordedAtMs, body });
}

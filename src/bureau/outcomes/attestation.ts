// Attestation of an outcome: another party's JWS over the transaction that the reporter's signed body
// settles. Verified after the reporter's signature, it raises the grade and lets the transaction count
// once. A document that does not hold refuses the outcome: its reporter would mistake it for proof.
import { type FaultCode, ServiceFault } from "../../contract/faults.ts";
import { type AttestationJws, parseAttestation } from "../../contract/jws.ts";
import { OUTCOME_AGE_MS_MAX, OUTCOME_SKEW_MS_MAX } from "../../contract/limits.ts";
import { extractNamespace } from "../../contract/namespaces.ts";
import { parseJson } from "../../contract/parse/json.ts";
import { parseTransaction } from "../../contract/parse/requests.ts";
import type { OutcomeRequest, Transaction } from "../../contract/schemas/outcomes.ts";
import { ATTESTED_GRADE_INDEX, type Attester, GRADES } from "../../contract/vocabulary.ts";
import type { OutcomeRecord } from "../../journal/records.ts";
import type { ReporterKey } from "../reporters/key-registry.ts";
import { assertKeyActive, type SignatureRules } from "../reporters/signed-body.ts";

/**
 * Verifies the attestation that a signed outcome carries and marks the record with it; without one
 * nothing is changed. Call it after the reporter's signature was verified.
 * @throws ServiceFault `attestation_malformed`, `attestation_mismatch`, `attestation_key_refused`,
 *   `attestation_stale` or `attestation_invalid`, each with the pointer `/attestation`; `overloaded`
 *   when too many signatures wait.
 */
export async function attestRecord(
  record: OutcomeRecord,
  request: OutcomeRequest,
  rules: SignatureRules,
): Promise<void> {
  if (request.attestation === undefined) return;
  const [jws, transaction] = convertFaults("attestation_malformed", () => {
    const parsed = parseAttestation(request.attestation!);
    return [parsed, parseTransaction(parseJson(parsed.payload))] as const;
  });
  if (jws.audience !== rules.serviceId) {
    throw createAttestationFault("attestation_mismatch", "its `aud` is not this service");
  }
  assertSameTransaction(transaction, request);
  const key = convertFaults("attestation_key_refused", () => findAttestingKey(jws, rules));
  const attester = selectAttester(key, request, rules.registry);
  assertFreshAttestation(jws.issuedAtMs, rules);
  const message = Buffer.from(jws.signingInput, "latin1");
  if (!(await rules.verify(key.raw, jws.signature, message))) {
    throw createAttestationFault("attestation_invalid", "its signature is not valid");
  }
  applyAttestation(record, attester, transaction.transaction_id);
}

/** The same for a row of a batch: the record, or the fault for which the row is refused. */
export function attestRow(
  row: OutcomeRecord | ServiceFault,
  request: OutcomeRequest,
  rules: SignatureRules,
): OutcomeRecord | ServiceFault | Promise<OutcomeRecord | ServiceFault> {
  if (row instanceof ServiceFault || request.attestation === undefined) return row;
  return attestRecord(row, request, rules).then(
    () => row,
    (thrown: unknown) => {
      if (thrown instanceof ServiceFault) return thrown;
      throw thrown;
    },
  );
}

/** Fault of an attestation beside no signature of the reporter; undefined for a report without one. */
export function findUnsignedAttestationFault(request: OutcomeRequest): ServiceFault | undefined {
  if (request.attestation === undefined) return undefined;
  const detail = "it is taken only in an outcome that its reporter signed";
  return createAttestationFault("attestation_invalid", detail);
}

/** @throws ServiceFault `attestation_mismatch` when the reporter says another thing. */
function assertSameTransaction(transaction: Transaction, request: OutcomeRequest): void {
  const members = ["subject", "reporter", "outcome", "stakes", "settled_at"] as const;
  const other = members.find((name) => transaction[name] !== request[name]);
  if (other === undefined) return;
  throw createAttestationFault("attestation_mismatch", `its \`${other}\` is not the outcome's`);
}

/** @throws ServiceFault with a code of signatures. */
function findAttestingKey(
  { kid, issuedAtMs }: AttestationJws,
  { registry, clock }: SignatureRules,
): ReporterKey {
  const key = registry.find(kid);
  if (key === undefined) {
    throw new ServiceFault("signature_key_unknown", "no agent has registered the key `kid`");
  }
  assertKeyActive(key, issuedAtMs, clock());
  return key;
}

/**
 * Who attests, by the owner of the namespace in which the key is registered. No owner attests for
 * itself: its agents could praise one another with any grade.
 * @throws ServiceFault `attestation_key_refused` when the owner may not attest this outcome.
 */
function selectAttester(
  { agent }: ReporterKey,
  { subject, reporter }: OutcomeRequest,
  { owners }: SignatureRules["registry"],
): Attester {
  const owner = owners.find(extractNamespace(agent));
  const reporting = owners.findOwnerTenant(extractNamespace(reporter));
  const subjectNamespace = subject.startsWith("agent://") ? extractNamespace(subject) : "";
  const refuse = (detail: string) => createAttestationFault("attestation_key_refused", detail);
  if (owner === undefined) throw refuse("nobody owns the namespace of its key");
  if (owner.tenant === reporting)
    throw refuse("its key belongs to the owner of the reporter's namespace");
  if (owner.namespace === subjectNamespace) {
    if (reporting === undefined) throw refuse("nobody owns the reporter's namespace");
    return "cosigned";
  }
  const isThird = owners.findOwnerTenant(subjectNamespace) !== owner.tenant;
  if (owner.isMediator && isThird) return "mediator";
  throw refuse(
    "its key is neither of the subject's namespace nor of a mediator between two others",
  );
}

/**
 * The guard remembers attested transactions no longer than signed ids, so an older document may be
 * that of an outcome which was counted.
 */
function assertFreshAttestation(issuedAtMs: number, rules: SignatureRules): void {
  const nowMs = rules.clock();
  if (issuedAtMs > nowMs + OUTCOME_SKEW_MS_MAX) {
    throw createAttestationFault("attestation_stale", "it was signed ahead of the clock");
  }
  const isForgotten = issuedAtMs - OUTCOME_SKEW_MS_MAX < (rules.rememberedSinceMs?.() ?? 0);
  if (nowMs - issuedAtMs <= OUTCOME_AGE_MS_MAX && !isForgotten) return;
  const detail = "it was signed more than 7 days ago, or before what can be told from repeats";
  throw createAttestationFault("attestation_stale", detail);
}

function applyAttestation(record: OutcomeRecord, attester: Attester, transactionId: string): void {
  record.attestation = { attester, transactionId };
  const claimed = record.claimedGradeIndex ?? record.gradeIndex;
  // What a reporter says to be the subject's own side is not raised above that.
  if (GRADES[claimed] === "self" || record.gradeIndex <= ATTESTED_GRADE_INDEX) return;
  record.gradeIndex = ATTESTED_GRADE_INDEX;
  if (claimed === ATTESTED_GRADE_INDEX) delete record.claimedGradeIndex;
  else record.claimedGradeIndex = claimed;
}

/** What `run` returns; a fault that it throws gets this code and the pointer. */
function convertFaults<Result>(code: AttestationFaultCode, run: () => Result): Result {
  try {
    return run();
  } catch (thrown) {
    if (!(thrown instanceof ServiceFault)) throw thrown;
    throw createAttestationFault(code, thrown.detail);
  }
}

type AttestationFaultCode = Extract<FaultCode, `attestation_${string}`>;

function createAttestationFault(code: AttestationFaultCode, detail: string): ServiceFault {
  return new ServiceFault(code, detail, [{ pointer: "/attestation", code, detail }]);
}

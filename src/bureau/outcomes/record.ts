// Use case of `POST /v1/outcomes` (SPEC §2.6, §4.4) and of the operators' import: which evidence is
// acceptable, and the record that the journal keeps of it. The ledger folds it and makes it
// durable.
import { isOfOneRow, ServiceFault } from "../../contract/faults.ts";
import { encodeAgentKey } from "../../contract/identifiers.ts";
import { OUTCOME_AGE_MS_MAX, OUTCOME_SKEW_MS_MAX } from "../../contract/limits.ts";
import { extractNamespace } from "../../contract/namespaces.ts";
import type { Principal } from "../../contract/principal.ts";
import type {
  ImportedOutcome,
  OutcomeReceipt,
  OutcomeRequest,
} from "../../contract/schemas/outcomes.ts";
import { hashTenantToVoice } from "../../contract/voices.ts";
import { type Grade, GRADES, UNPROVED_GRADE_INDEX } from "../../contract/vocabulary.ts";
import type { EngineReader } from "../../engine/reading.ts";
import type { OutcomeRecord } from "../../journal/records.ts";
import type { PolicySource } from "../../policy/active-policy.ts";
import type { CallContext, ImportResult, OutcomeContext } from "../bureau.ts";
import type { BureauServices } from "../services.ts";
import { attestRecord, findUnsignedAttestationFault } from "./attestation.ts";
import { findEarlierReceipt } from "./earlier-receipts.ts";
import type { ReporterRegistry } from "../reporters/key-registry.ts";
import type { SignedBody } from "../reporters/signed-body.ts";
import { isReservedAgent } from "../../contract/identifiers.ts";

/** The part of a key's holder that a report is judged by. */
export interface OutcomeSender extends Pick<Principal, "tenant" | "voice" | "isFirstParty"> {
  /** May report in any name. */
  readonly isAdmin: boolean;
  /** What one unit of the tenant's stakes is in the bureau's unit of account; above 0. */
  readonly stakesUnit: number;
  /** Whether reporters' credibility counts, so that each signer is a voice by what it has earned. */
  readonly areStandingsInForce: boolean;
}

/** What a sender is judged by beside its key. */
export interface SenderSources {
  readonly policies: PolicySource;
  readonly engine: Pick<EngineReader, "areStandingsInForce">;
}

export function selectOutcomeSender(
  { tenant, voice, isFirstParty, scopes }: Principal,
  { policies, engine: { areStandingsInForce } }: SenderSources,
): OutcomeSender {
  const stakesUnit = policies.findActivePolicy(tenant).terms.connect.unit;
  const isAdmin = scopes.has("admin");
  return { tenant, voice, isFirstParty, isAdmin, stakesUnit, areStandingsInForce };
}

/**
 * Number of the tenant that an outcome signed by `reporter` counts as: the owner of its namespace, or
 * the sender where nobody owns it. Undefined where the reporter answers for itself: an administrator
 * vouches for the owner, or standings are in force.
 */
export function findSignerVoice(
  { owners }: Pick<ReporterRegistry, "owners">,
  reporter: string,
  { voice, areStandingsInForce }: Pick<OutcomeSender, "voice" | "areStandingsInForce">,
): number | undefined {
  if (areStandingsInForce) return undefined;
  const owner = owners.find(extractNamespace(reporter));
  if (owner === undefined) return voice;
  return owner.isVouched ? undefined : hashTenantToVoice(owner.tenant);
}

/**
 * Fault of an unsigned report in the name of an agent that signs (for every sender: no API key stands
 * in for the reporter's), or of another tenant's agent, or with an attestation; else undefined. `nowMs`
 * is epoch ms.
 */
export function findUnsignedFault(
  registry: ReporterRegistry,
  request: OutcomeRequest,
  { tenant, isAdmin }: OutcomeSender,
  nowMs: number,
): ServiceFault | undefined {
  const { reporter } = request;
  if (registry.isSignatureNeeded(reporter, nowMs)) {
    const detail = "`reporter` has a registered signing key: send `x-jws-signature`";
    return createOutcomeFault("signature_required", "/reporter", detail);
  }
  const owner = registry.owners.findOwnerTenant(extractNamespace(reporter));
  if (owner === undefined || owner === tenant || isAdmin)
    return findUnsignedAttestationFault(request);
  const detail = "`reporter` is in another tenant's namespace: it must sign";
  return createOutcomeFault("namespace_not_owned", "/reporter", detail);
}

const NO_BODY = new Uint8Array(0);

/**
 * Records one outcome. Resolves once it is durable and folded.
 * @throws ServiceFault when the outcome is not acceptable or the journal takes none.
 */
export async function recordOutcome(
  services: BureauServices,
  request: OutcomeRequest,
  call: OutcomeContext,
): Promise<OutcomeReceipt> {
  const { signed } = call;
  const sender = selectOutcomeSender(call.principal, services);
  signed?.assertReporter(request.reporter);
  const nowMs = services.clock();
  const { registry } = services;
  const forged =
    signed === undefined ? findUnsignedFault(registry, request, sender, nowMs) : undefined;
  if (forged !== undefined) throw forged;
  const record = buildRecordOrFault(services, request, sender, nowMs);
  if (record instanceof ServiceFault) throw record;
  record.idempotencyKey ||= buildIdempotencyHeaderKey(call);
  record.body = call.body;
  if (signed !== undefined) {
    signed.assertFresh();
    await signed.verifySignature();
    const earlier = await signed.findEarlierRecords();
    const first = earlier === undefined ? undefined : await findEarlierReceipt(signed, earlier);
    if (first !== undefined) return first;
    await attestRecord(record, request, signed.rules);
    attachReporterSignature(record, signed, findSignerVoice(registry, record.reporter, sender));
  }
  const receipt = await services.ledger.append(record);
  settleStakes(services, request.subject, record);
  return receipt;
}

/**
 * Frees the stakes of the decision that an outcome names. Only a success does, told by a first-party key or a
 * reporter that an administrator vouches for, of the tenant that asked: else an agent would free its own stakes.
 */
export function settleStakes(
  { activity, clock, registry }: Pick<BureauServices, "activity" | "clock" | "registry">,
  agent: string,
  { requestId, outcome, tenant, stakes, isFirstParty, signature, reporter }: OutcomeRecord,
): void {
  if (requestId === "" || outcome === 0) return;
  const isVouched = registry.owners.find(extractNamespace(reporter))?.isVouched === true;
  if (!isFirstParty && !(signature === "reporter" && isVouched)) return;
  const nowMs = clock();
  activity.settle({ tenant, agent, requestId, amount: stakes }, nowMs);
  // The other party of a handshake, where it was one: the deal is done for both. No signer frees its own stakes.
  if (isFirstParty) activity.settle({ tenant, agent: reporter, requestId, amount: stakes }, nowMs);
}

/**
 * Record of an outcome that came through the API, before any signature; or the fault for which it
 * is refused.
 */
export function buildRecordOrFault(
  services: Pick<BureauServices, "outcomeIds">,
  request: OutcomeRequest,
  sender: OutcomeSender,
  nowMs: number,
): OutcomeRecord | ServiceFault {
  const settledAtMs = request.settled_at ?? nowMs;
  const fault = findOutcomeFault(request, settledAtMs, nowMs, OUTCOME_AGE_MS_MAX);
  return fault ?? buildOutcomeRecord(services, request, sender, { settledAtMs, nowMs });
}

/** Marks the record as signed by the reporter; the signature is verified before. */
export function attachReporterSignature(
  record: OutcomeRecord,
  signed: SignedBody,
  signerVoice: number | undefined,
): void {
  const { kid, jti, protectedText, signature } = signed.jws;
  record.signature = "reporter";
  if (signerVoice !== undefined) record.signerVoice = signerVoice;
  record.proof = { kind: "own", kid, jti, protectedText, signature };
  record.body = signed.body;
}

/**
 * Records imported rows. Resolves with one result per row, order kept.
 * @throws ServiceFault when the journal takes no outcomes at all.
 */
export function importOutcomes(
  services: BureauServices,
  requests: readonly ImportedOutcome[],
  source: string,
  call: CallContext,
): Promise<ImportResult[]> {
  const nowMs = services.clock();
  const importer = selectOutcomeSender(call.principal, services);
  // Appended one by one and awaited together: the ledger syncs them in as few batches as it can,
  // and a row that conflicts with an earlier one is that row's result alone.
  return Promise.all(
    requests.map(async (request): Promise<ImportResult> => {
      const settledAtMs = request.settled_at ?? nowMs;
      const fault =
        findOutcomeFault(request, settledAtMs, nowMs, Number.POSITIVE_INFINITY) ??
        findUnsignedAttestationFault(request) ??
        findImporterFault(request, importer);
      if (fault !== undefined) return fault;
      const sender = selectImportedSender(request, importer, services);
      const record = buildOutcomeRecord(services, request, sender, { settledAtMs, nowMs });
      record.signature = "bureau";
      if (!sender.isFirstParty) record.signerVoice = sender.voice;
      record.source = source;
      return services.ledger.append(record).catch(catchRowFault);
    }),
  );
}

/** Only an administrator may say who reported: others would speak for another tenant, or vouch for themselves. */
function findImporterFault(
  { tenant, first_party }: ImportedOutcome,
  { isAdmin }: OutcomeSender,
): ServiceFault | undefined {
  if (isAdmin || (tenant === undefined && first_party === undefined)) return undefined;
  const pointer = tenant === undefined ? "/first_party" : "/tenant";
  const detail = `only a key with the scope \`admin\` may set \`${pointer.slice(1)}\``;
  return createOutcomeFault("insufficient_scope", pointer, detail);
}

/**
 * Who answers for an imported row: the tenant that it names, else the importing key's. The files are the
 * operator's word, whichever key sends them, unless the row says that it is the tenant's alone.
 */
function selectImportedSender(
  { tenant, first_party: isFirstParty = true }: ImportedOutcome,
  importer: OutcomeSender,
  { policies }: SenderSources,
): OutcomeSender {
  if (tenant === undefined) return { ...importer, isFirstParty };
  const stakesUnit = policies.findActivePolicy(tenant).terms.connect.unit;
  return { ...importer, tenant, voice: hashTenantToVoice(tenant), isFirstParty, stakesUnit };
}

/** An error that cannot be laid to one row ends the whole: nothing was acknowledged of it. */
export function catchRowFault(error: unknown): ServiceFault {
  if (isOfOneRow(error)) return error;
  throw error;
}

/** Fault for which an outcome is not evidence, or undefined. */
function findOutcomeFault(
  request: OutcomeRequest,
  settledAtMs: number,
  nowMs: number,
  ageMsMax: number,
): ServiceFault | undefined {
  if (request.subject === request.reporter) {
    return createOutcomeFault(
      "self_report",
      "/reporter",
      "`reporter` and `subject` are the same agent",
    );
  }
  if (isReservedAgent(request.subject)) {
    return createOutcomeFault("reserved_agent", "/subject", "`subject` is a reserved test agent");
  }
  if (isReservedAgent(request.reporter)) {
    return createOutcomeFault("reserved_agent", "/reporter", "`reporter` is a reserved test agent");
  }
  if (settledAtMs > nowMs + OUTCOME_SKEW_MS_MAX) {
    return createOutcomeFault(
      "outcome_in_future",
      "/settled_at",
      "`settled_at` is ahead of the clock",
    );
  }
  if (nowMs - settledAtMs > ageMsMax) {
    return createOutcomeFault(
      "outcome_too_old",
      "/settled_at",
      "`settled_at` is more than 7 days ago",
    );
  }
  return undefined;
}

type OutcomeFaultCode =
  | "self_report"
  | "reserved_agent"
  | "outcome_in_future"
  | "outcome_too_old"
  | "namespace_not_owned"
  | "insufficient_scope"
  | "signature_required";

function createOutcomeFault(code: OutcomeFaultCode, pointer: string, detail: string): ServiceFault {
  return new ServiceFault(code, detail, [{ pointer, code, detail }]);
}

function buildOutcomeRecord(
  services: Pick<BureauServices, "outcomeIds">,
  request: OutcomeRequest,
  { tenant, voice, isFirstParty, stakesUnit }: OutcomeSender,
  { settledAtMs, nowMs }: { readonly settledAtMs: number; readonly nowMs: number },
): OutcomeRecord {
  return {
    outcomeId: services.outcomeIds.next(nowMs),
    idempotencyKey: buildIdMemberKey(request, tenant),
    subject: encodeAgentKey(request.subject),
    reporter: request.reporter,
    outcome: request.outcome,
    stakes: request.stakes * stakesUnit,
    ...(stakesUnit === 1 ? {} : { reportedStakes: request.stakes }),
    ...(request.incident_id === undefined ? {} : { incidentId: request.incident_id }),
    ...selectGrade(request.grade, isFirstParty),
    signature: "none",
    settledAtMs,
    isTimeGiven: request.settled_at !== undefined,
    recordedAtMs: nowMs,
    isAgentFault: request.agent_fault ?? true,
    voice,
    isFirstParty,
    tenant,
    action: request.action ?? "",
    requestId: request.request_id ?? "",
    source: "api",
    body: NO_BODY,
  };
}

/**
 * What the outcome weighs as before it is attested: a grade above `counterparty` takes the operator's
 * word, that of a first-party key or an import. Another's claim is kept beside it and weighs nothing.
 */
function selectGrade(
  grade: Grade,
  isFirstParty: boolean,
): Pick<OutcomeRecord, "gradeIndex" | "claimedGradeIndex"> {
  const gradeIndex = GRADES.indexOf(grade);
  if (isFirstParty || gradeIndex >= UNPROVED_GRADE_INDEX) return { gradeIndex };
  return { gradeIndex: UNPROVED_GRADE_INDEX, claimedGradeIndex: gradeIndex };
}

/**
 * SPEC §2.6 has no replay rule. The `id` member names the settlement, so it holds for a tenant's
 * reporter whichever key sends it; where both are given it wins over the header.
 */
function buildIdMemberKey(request: OutcomeRequest, tenant: string): string {
  if (request.id === undefined) return "";
  return `id\n${tenant}\n${request.reporter}\n${request.id}`;
}

/** The `Idempotency-Key` header names one attempt of one API key. */
function buildIdempotencyHeaderKey(call: OutcomeContext): string {
  if (call.idempotencyKey === undefined) return "";
  return `key\n${call.principal.keyId}\n${call.idempotencyKey}`;
}

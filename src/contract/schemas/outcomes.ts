// Messages of the routes that report outcomes: alone, in a batch, imported.
import { FAULT_CODES } from "../faults.ts";
import {
  ATTESTATION_LENGTH_MAX,
  INCIDENT_ID_LENGTH_MAX,
  OUTCOME_BODY_BYTES_MAX,
  OUTCOME_ID_LENGTH_MAX,
  REQUEST_ID_LENGTH_MAX,
  SIGNATURE_LENGTH_MAX,
  TENANT_LENGTH_MAX,
  TRANSACTION_ID_LENGTH_MAX,
} from "../limits.ts";
import { ATTESTERS, GRADES, SIGNATURES } from "../vocabulary.ts";
import { scoredId } from "./scored-id.ts";
import * as t from "./schema.ts";
import { FieldError, defineItemResults } from "./service.ts";

/** The integer 0 or 1 and nothing that merely looks like it. */
const outcome = t.defineChecked<0 | 1>(
  { "~shown": { enum: [0, 1] } },
  (value) => value === 0 || value === 1,
  (value) =>
    Number.isInteger(value)
      ? "enum must be 0 (failure) or 1 (success)"
      : "type must be the integer 0 or 1",
);

/** Payload of an attestation: what the reporter and another party both say of one transaction. */
export const Transaction = t.defineStrictMessage(
  "Transaction",
  {
    transaction_id: t.defineToken(TRANSACTION_ID_LENGTH_MAX),
    subject: scoredId,
    reporter: t.agentId,
    outcome,
    stakes: t.stakes,
    settled_at: t.settledAt,
  },
  {
    description:
      "Payload of the JWS in `attestation`: all members but `transaction_id` as in the outcome.",
  },
);
export type Transaction = t.MessageOf<typeof Transaction>;

const outcomeMembers = {
  subject: scoredId,
  reporter: t.agentId,
  outcome,
  stakes: t.stakes,
  grade: t.defineChoice(GRADES),
  id: t.makeOptional(
    t.withDescription(
      t.defineToken(OUTCOME_ID_LENGTH_MAX),
      "What makes a repeat the same outcome.",
    ),
  ),
  settled_at: t.makeOptional(t.settledAt),
  agent_fault: t.makeOptional(
    t.withDescription(
      t.flag,
      "False: the tool or the network failed, not the agent. Stored, not counted.",
    ),
  ),
  action: t.makeOptional(t.action),
  request_id: t.makeOptional(
    t.withDescription(t.defineToken(REQUEST_ID_LENGTH_MAX), "The verdict that it settles."),
  ),
  incident_id: t.makeOptional(
    t.withDescription(
      t.defineToken(INCIDENT_ID_LENGTH_MAX),
      "Failures of a subject under one name of the tenant count as those of one hour.",
    ),
  ),
  attestation: t.makeOptional(
    t.withDescription(
      // Its length is judged with the rest of it, where it is read (jws.ts).
      t.withKeywords(t.text, {
        "~shown": {
          minLength: 1,
          maxLength: ATTESTATION_LENGTH_MAX,
          contentMediaType: "application/jose",
          contentSchema: Transaction,
        },
      }),
      "Compact JWS (`typ` `transaction+jws`) over a `Transaction` by the owner of the subject's namespace or a named mediator; only beside the reporter's signature, with `settled_at`.",
    ),
  ),
};

/** SPEC §2.6. SPEC §4.4 does not say that `grade` may be left out, so it is required. */
export const OutcomeRequest = t.defineMessage("OutcomeRequest", outcomeMembers);
export type OutcomeRequest = t.MessageOf<typeof OutcomeRequest>;

/** One line of `POST /v1/outcomes/import`. */
export const ImportedOutcome = t.defineMessage("ImportedOutcome", {
  ...outcomeMembers,
  tenant: t.makeOptional(
    t.withDescription(
      t.definePlainText(TENANT_LENGTH_MAX),
      "The tenant that reported it, in whose unit its stakes are; left out: that of the importing key.",
    ),
  ),
  first_party: t.makeOptional(
    t.withDescription(
      t.flag,
      "Whether it counts on the operator's word, as when left out. False: as an unsigned report of the tenant's own.",
    ),
  ),
});
export type ImportedOutcome = t.MessageOf<typeof ImportedOutcome>;

export const OutcomeReceipt = t.defineMessage("OutcomeReceipt", {
  outcome_id: t.text,
  position: t.withDescription(t.integer, "Position in the evidence journal."),
  recorded_at: t.time,
  duplicate: t.flag,
  signature: t.defineChoice(SIGNATURES),
  claimed_grade: t.makeOptional(
    t.withDescription(
      t.defineChoice(GRADES),
      "The grade as sent, where the outcome weighs as another: `counterparty` where nothing proves it, `mediator` where it is attested.",
    ),
  ),
  attested: t.makeOptional(
    t.withDescription(t.defineChoice(ATTESTERS), "Who signed the attestation; not of a repeat."),
  ),
  evidence_id: t.makeOptional(t.withDescription(t.text, "The signed batch that it came in.")),
  evidence_index: t.makeOptional(t.withDescription(t.integer, "Its place there.")),
});
export type OutcomeReceipt = t.MessageOf<typeof OutcomeReceipt>;

export const SignedOutcome = t.defineMessage(
  "SignedOutcome",
  {
    body: t.defineTextOfLength(
      { minLength: 1, maxLength: OUTCOME_BODY_BYTES_MAX },
      (body) => Buffer.byteLength(body) <= OUTCOME_BODY_BYTES_MAX,
      `must be at most ${OUTCOME_BODY_BYTES_MAX} bytes`,
    ),
    // Its length is judged with the rest of it, where the signature is read (jws.ts).
    signature: t.withKeywords(t.text, {
      "~shown": { minLength: 1, maxLength: SIGNATURE_LENGTH_MAX },
    }),
  },
  {
    description: [
      "An outcome with a signature of its own: `body` is the exact text of an `OutcomeRequest`,",
      "`signature` what `X-JWS-Signature` over these bytes would be. Only in a batch that carries",
      "no `X-JWS-Signature` itself, and only as JSON. Each item is checked and answered as if it",
      "came alone: its problem has the same code.",
    ].join(" "),
  },
);

const row = t.defineSchema<unknown>({ anyOf: [OutcomeRequest, SignedOutcome] });
export const OutcomeBatchRequest = t.withKeywords(t.defineBatch(row), {
  "~component": "OutcomeBatchRequest",
});

export const OutcomeBatchResponse = t.defineMessage("OutcomeBatchResponse", {
  items: defineItemResults(OutcomeReceipt),
});

/** `POST /v1/outcomes/import`: lines are counted from 1, blank lines included. */
export const ImportReport = t.defineMessage("ImportReport", {
  accepted: t.integer,
  duplicates: t.integer,
  rejected: t.defineList(
    t.defineObject({
      line: t.integer,
      code: t.defineChoice(FAULT_CODES),
      detail: t.text,
      errors: t.defineList(FieldError),
    }),
  ),
});
export type ImportReport = t.MessageOf<typeof ImportReport>;

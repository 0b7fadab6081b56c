// Messages of the routes that report outcomes: alone, in a batch, imported.
import {
  OUTCOME_BODY_BYTES_MAX,
  OUTCOME_ID_LENGTH_MAX,
  REQUEST_ID_LENGTH_MAX,
  SIGNATURE_LENGTH_MAX,
} from "../limits.ts";
import { GRADES, SIGNATURES } from "../vocabulary.ts";
import * as kind from "./kinds.ts";
import {
  checked,
  list,
  message,
  type MessageOf,
  object,
  oneOf,
  optional,
  schemaOf,
  withKeywords,
} from "./schema.ts";
import { batchOf } from "./scores.ts";
import { FieldError, Problem } from "./service.ts";

const { flag, integer, text } = kind;

/** The integer 0 or 1 and nothing that merely looks like it. */
const outcome = checked<0 | 1>(
  { "~shown": { enum: [0, 1] } },
  (value: unknown) => value === 0 || value === 1,
  (value: unknown) =>
    Number.isInteger(value)
      ? "enum must be 0 (failure) or 1 (success)"
      : "type must be the integer 0 or 1",
);

/** SPEC §2.6. SPEC §4.4 does not say that `grade` may be left out, so it is required. */
export const OutcomeRequest = message("OutcomeRequest", {
  subject: kind.agentId,
  reporter: kind.agentId,
  outcome,
  stakes: kind.stakes,
  grade: oneOf(GRADES),
  id: optional(kind.token(OUTCOME_ID_LENGTH_MAX)),
  settled_at: optional(kind.settledAt),
  agent_fault: optional(flag),
  action: optional(kind.action),
  request_id: optional(kind.token(REQUEST_ID_LENGTH_MAX)),
});

export const OutcomeReceipt = message("OutcomeReceipt", {
  outcome_id: text,
  position: integer,
  recorded_at: kind.time,
  duplicate: flag,
  signature: oneOf(SIGNATURES),
  evidence_id: optional(text),
  evidence_index: optional(integer),
});

export const SignedOutcome = message(
  "SignedOutcome",
  {
    body: kind.textOfLength(
      { minLength: 1, maxLength: OUTCOME_BODY_BYTES_MAX },
      (body) => Buffer.byteLength(body) <= OUTCOME_BODY_BYTES_MAX,
      `must be at most ${OUTCOME_BODY_BYTES_MAX} bytes`,
    ),
    // Its length is judged with the rest of it, where the signature is read (jws.ts).
    signature: withKeywords(text, { "~shown": { minLength: 1, maxLength: SIGNATURE_LENGTH_MAX } }),
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

const row = schemaOf<unknown>({ anyOf: [OutcomeRequest, SignedOutcome] });
export const OutcomeBatchRequest = withKeywords(batchOf(row), {
  "~component": "OutcomeBatchRequest",
});

export const OutcomeBatchResponse = message("OutcomeBatchResponse", {
  items: list(
    object({ status: integer, result: optional(OutcomeReceipt), problem: optional(Problem) }),
  ),
});

/** `POST /v1/outcomes/import`: lines are counted from 1, blank lines included. */
export const ImportReport = message("ImportReport", {
  accepted: integer,
  duplicates: integer,
  rejected: list(object({ line: integer, code: text, detail: text, errors: list(FieldError) })),
});
export type ImportReport = MessageOf<typeof ImportReport>;

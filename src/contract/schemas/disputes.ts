// Messages of those who were refused: the report on one agent that its tenant may share, the link that
// shares it, and the dispute.
import { REQUEST_ID_LENGTH_MAX, TENANT_LENGTH_MAX } from "../limits.ts";
import {
  CONTACT_BYTES_MAX,
  REPORT_LINK_SEC_DEFAULT,
  REPORT_LINK_SEC_MAX,
  REPORT_LINK_SEC_MIN,
  STATEMENT_LENGTH_MAX,
} from "../reviews/disputes.ts";
import {
  DECISIONS,
  REASON_CODES,
  REVIEW_DECISIONS,
  REVIEW_KINDS,
  REVIEW_LEVELS,
  REVIEW_STATES,
  TIERS,
  VERDICTS,
} from "../vocabulary.ts";
import { scoredId } from "./scored-id.ts";
import * as t from "./schema.ts";
import { SigningKey } from "./signing-keys.ts";

/** Line breaks are text here; all other control characters are not. */
function isStatement(value: string): boolean {
  const characters = Array.from(value).length;
  // oxlint-disable-next-line no-control-regex
  const hasControls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(value);
  return (
    1 <= characters && characters <= STATEMENT_LENGTH_MAX && !hasControls && hasVisibleText(value)
  );
}

function hasVisibleText(value: string): boolean {
  return value.trim() !== "" && value.isWellFormed();
}

const statement = t.defineChecked<string>(
  { type: "string", "~shown": { minLength: 1, maxLength: STATEMENT_LENGTH_MAX } },
  (value) => isStatement(value as string),
  (value) => {
    const { length } = Array.from(value as string);
    const isLong = length > STATEMENT_LENGTH_MAX;
    if (isLong || (value as string).trim() === "") {
      return `length must be 1 to ${STATEMENT_LENGTH_MAX} characters`;
    }
    return "format may hold no control characters but line breaks";
  },
);

/** Body of `POST /v1/disputes`. */
export const DisputeRequest = t.defineStrictMessage("DisputeRequest", {
  agent: t.makeOptional(
    t.withDescription(scoredId, "Whom it is about; left out, the agent of `link`."),
  ),
  decision: t.makeOptional(
    t.withDescription(
      t.defineToken(REQUEST_ID_LENGTH_MAX),
      "The `request_id` of the decision that is disputed.",
    ),
  ),
  level: t.makeOptional(
    t.withDescription(
      t.defineChoice(REVIEW_LEVELS),
      "What it asks for; left out, the level of the decision, else of the agent's last denial.",
    ),
  ),
  statement: t.withDescription(statement, "What is wrong, in words: text, never markup."),
  contact: t.makeOptional(
    t.withDescription(t.definePlainText(CONTACT_BYTES_MAX), "Where to answer."),
  ),
  link: t.makeOptional(
    t.withDescription(t.text, "The token of a shared report, in the place of an API key."),
  ),
});
export type DisputeRequest = t.MessageOf<typeof DisputeRequest>;

/** A dispute as whoever sent it sees it. */
const disputeState = t.defineObject({
  id: t.withDescription(t.text, "Of the review that it is."),
  level: t.defineChoice(REVIEW_LEVELS),
  state: t.defineChoice(REVIEW_STATES),
  opened_at: t.time,
  decision: t.defineNullableAnswer(t.defineChoice(REVIEW_DECISIONS)),
  until: t.withDescription(t.timeOrNull, "The decision holds before this."),
});

export const DisputeReceipt = t.defineMessage("DisputeReceipt", {
  ...disputeState.properties,
  agent: t.text,
  request_id: t.withDescription(t.textOrNull, "The decision that is disputed."),
});
export type DisputeReceipt = t.MessageOf<typeof DisputeReceipt>;

/** One thing that counts against an agent. */
const objection = t.defineObject({
  code: t.defineChoice(REASON_CODES),
  sentence: t.text,
  remedy: t.withDescription(t.text, "What would change it."),
});

export type Objection = t.MessageOf<typeof objection>;

const REPORT = {
  agent_id: t.text,
  tenant: t.withDescription(
    t.text,
    "Whose report it is: the decisions and reviews are this tenant's alone.",
  ),
  evaluated_at: t.time,
  known: t.flag,
  score: t.withDescription(t.number, "0 to 100."),
  tier: t.defineChoice(TIERS),
  config_version: t.text,
  max_stakes: t.withDescription(
    t.numberOrNull,
    "Up to these stakes it connects now; null for any.",
  ),
  against: t.withDescription(
    t.defineList(objection),
    "What counts against the agent, the weightiest first.",
  ),
  evidence: t.withDescription(
    t.defineObject({
      outcomes: t.integer,
      ...t.repeatSchema(t.number, "successes_90d", "failures_90d"),
      ...t.repeatSchema(t.timeOrNull, "first_seen_at", "last_outcome_at", "last_failure_at"),
    }),
    "How much is known. Nobody who reported is named.",
  ),
  denials: t.withDescription(
    t.defineList(
      t.defineObject({
        request_id: t.text,
        evaluated_at: t.time,
        level: t.defineChoice(REVIEW_LEVELS),
        stakes: t.number,
        verdict: t.defineNullableAnswer(t.defineChoice(VERDICTS)),
        decision: t.defineChoice(DECISIONS),
        reason: t.textOrNull,
        reason_codes: t.texts,
      }),
    ),
    "The newest answers of this tenant that let nothing through.",
  ),
  complete: t.withDescription(
    t.flag,
    "False while decisions still wait to be stored: ask again for them.",
  ),
  reviews: t.withDescription(
    t.defineList(
      t.defineObject({ kind: t.defineChoice(REVIEW_KINDS), ...disputeState.properties }),
    ),
    "What people of this tenant look at or have decided, the newest first.",
  ),
  dispute: t.defineObject({
    path: t.withDescription(t.text, "Where to send it: `POST`."),
    statement_length_max: t.integer,
    left_today: t.withDescription(
      t.integer,
      "Disputes about the agent that are still taken today, UTC.",
    ),
  }),
  service_id: t.withDescription(t.text, "Which bureau; the signature's `iss`."),
} as const;

/** `GET /v1/agents/{id}/report`. */
export const AgentReport = t.defineMessage("AgentReport", {
  ...REPORT,
  jws: t.withDescription(
    t.text,
    "Compact JWS of the members above and `iat`, `typ` `agent-report+jws`, by a key of " +
      "`/.well-known/jwks.json`.",
  ),
  kid: t.withDescription(SigningKey.properties.kid, "The key that signed it."),
});
export type AgentReport = t.MessageOf<typeof AgentReport>;
/** What is signed. */
export type ReportBody = Omit<AgentReport, "jws" | "kid">;

const validSec = t.defineChecked<number>(
  { "~shown": { type: "integer", minimum: REPORT_LINK_SEC_MIN, maximum: REPORT_LINK_SEC_MAX } },
  (value) =>
    Number.isInteger(value) &&
    REPORT_LINK_SEC_MIN <= Number(value) &&
    Number(value) <= REPORT_LINK_SEC_MAX,
  () => `range must be whole seconds, ${REPORT_LINK_SEC_MIN} to ${REPORT_LINK_SEC_MAX}`,
);

/** Body of `POST /v1/agents/{id}/report/links`. */
export const ReportLinkRequest = t.defineStrictMessage("ReportLinkRequest", {
  valid_sec: t.makeOptional(
    t.withDescription(validSec, `How long it opens; ${REPORT_LINK_SEC_DEFAULT} when left out.`),
  ),
});

export const ReportLink = t.defineMessage("ReportLink", {
  url: t.withDescription(t.text, "Path and query, below the address of the service."),
  token: t.withDescription(t.text, "`link` of a dispute."),
  expires_at: t.time,
  tenant: t.withDescription(t.definePlainText(TENANT_LENGTH_MAX), "Whose report it opens."),
});
export type ReportLink = t.MessageOf<typeof ReportLink>;

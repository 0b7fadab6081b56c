// Verdicts as JSON text, by hand: the three hot replies. Request ids are tokens (checked where they
// enter), times and labels are ours: they are wrapped in quotes; all other text is escaped. Byte
// for byte what JSON.stringify gives for members in the order of contract/messages.ts; a compile
// error below says when a member is missing.
import type {
  CheckResponse,
  HandshakeResponse,
  Leg,
  VerdictStamp,
  VerifyResponse,
} from "../contract/messages.ts";

/** SPEC §2.3 as JSON. */
export function writeVerify(response: VerifyResponse): string {
  const { trust_evaluation: trust, provenance_data: provenance, policy_action: policy } = response;
  const regime = trust.regime === undefined ? "" : `,"regime":"${trust.regime}"`;
  const sources =
    provenance.sources === undefined ? "" : `,"sources":${sourceList(provenance.sources)}`;
  return (
    `{"request_id":"${response.request_id}","trust_evaluation":{"score":${num(trust.score)}` +
    `,"threshold_met":${trust.threshold_met},"risk_level":"${trust.risk_level}"` +
    `,"internal_score":${num(trust.internal_score)},"tier":"${trust.tier}"${regime}` +
    `,"confidence":${thousandths(trust.confidence)}},"provenance_data":{"is_hallucinated":` +
    `${provenance.is_hallucinated},"source_verified":${provenance.source_verified}` +
    `,"reason":${quote(provenance.reason)}${sources}},"policy_action":{"verdict":` +
    `"${policy.verdict}","log_reason":"${policy.log_reason}"}` +
    `,"reason_codes":${wrapAll(response.reason_codes)},"enforced":${response.enforced}` +
    `,"config_version":"${response.config_version}"` +
    `,"evaluated_at":"${response.evaluated_at}","expires_at":"${response.expires_at}"}`
  );
}

/** SPEC §4.3 as JSON: a leg, its stamp, and the answer. */
export function writeCheck(response: CheckResponse): string {
  return (
    `{${legMembers(response)},${stampMembers(response)},"stakes":${num(response.stakes)}` +
    `,"allowed":${response.allowed}}`
  );
}

/** SPEC §2.5 as JSON. */
export function writeHandshake(response: HandshakeResponse): string {
  return (
    `{"initiator":${quote(response.initiator)},"counterparty":${quote(response.counterparty)}` +
    `,"stakes":${num(response.stakes)},"a_to_b":{${legMembers(response.a_to_b)}}` +
    `,"b_to_a":{${legMembers(response.b_to_a)}},"decision":"${response.decision}"` +
    `,"connected":${response.connected},"reasons":${quoteAll(response.reasons)}` +
    `,${stampMembers(response)}}`
  );
}

function legMembers(leg: Leg): string {
  const regime = leg.regime === undefined ? "" : `,"regime":"${leg.regime}"`;
  const stakesMax = leg.max_stakes === null ? "null" : num(leg.max_stakes);
  return (
    `"subject":${quote(leg.subject)},"effective_score":${num(leg.effective_score)}` +
    `,"tier":"${leg.tier}"${regime},"decision":"${leg.decision}"` +
    `,"reasons":${quoteAll(leg.reasons)},"reason_codes":${wrapAll(leg.reason_codes)}` +
    `,"max_stakes":${stakesMax}`
  );
}

function stampMembers(stamp: VerdictStamp): string {
  return (
    `"request_id":"${stamp.request_id}","config_version":"${stamp.config_version}"` +
    `,"evaluated_at":"${stamp.evaluated_at}","expires_at":"${stamp.expires_at}"`
  );
}

/** As JSON.stringify: what is no JSON number is null, and minus zero is zero. */
function num(value: number): string {
  return Number.isFinite(value) ? `${value}` : "null";
}

/** Codes and labels of ours: letters, digits and underscores, so quoting them is wrapping them. */
function wrapAll(codes: readonly string[]): string {
  if (codes.length === 0) return "[]";
  let list = `["${codes[0]}"`;
  for (let index = 1; index < codes.length; index += 1) list += `,"${codes[index]}"`;
  return `${list}]`;
}

function sourceList(sources: readonly { id: string; status: string }[]): string {
  let list = "";
  for (let index = 0; index < sources.length; index += 1) {
    const { id, status } = sources[index] as { id: string; status: string };
    list += `${index === 0 ? "" : ","}{"id":${quote(id)},"status":"${status}"}`;
  }
  return `[${list}]`;
}

/** 0, 0.001 to 1 as text: printing a fraction costs more than all the rest of a number. */
const THOUSANDTHS: readonly string[] = Array.from({ length: 1001 }, (_, n) => `${n / 1000}`);

function thousandths(value: number): string {
  const count = Math.round(value * 1000);
  return count / 1000 === value ? (THOUSANDTHS[count] ?? num(value)) : num(value);
}

function quoteAll(texts: readonly string[]): string {
  if (texts.length === 0) return "[]";
  let list = `[${quote(texts[0] as string)}`;
  for (let index = 1; index < texts.length; index += 1) list += `,${quote(texts[index] as string)}`;
  return `${list}]`;
}

/** A JSON string; only text that needs escaping pays for the native serialiser. */
function quote(text: string): string {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x22 || code === 0x5c || code > 0x7e) return JSON.stringify(text);
  }
  return `"${text}"`;
}

// Every member above, by name: a new member in messages.ts fails to compile here until it is
// written.
type StampMember = "request_id" | "config_version" | "evaluated_at" | "expires_at";
type LegMember =
  | "subject"
  | "effective_score"
  | "tier"
  | "regime"
  | "decision"
  | "reasons"
  | "reason_codes"
  | "max_stakes";
type VerifyMember =
  | StampMember
  | "trust_evaluation"
  | "provenance_data"
  | "policy_action"
  | "reason_codes"
  | "enforced";
type TrustMember =
  | "score"
  | "threshold_met"
  | "risk_level"
  | "internal_score"
  | "tier"
  | "regime"
  | "confidence";
type HandshakeMember =
  | StampMember
  | "initiator"
  | "counterparty"
  | "stakes"
  | "a_to_b"
  | "b_to_a"
  | "decision"
  | "connected"
  | "reasons";

type Missing =
  | Exclude<keyof VerifyResponse, VerifyMember>
  | Exclude<keyof VerifyResponse["trust_evaluation"], TrustMember>
  | Exclude<
      keyof VerifyResponse["provenance_data"],
      "is_hallucinated" | "source_verified" | "reason" | "sources"
    >
  | Exclude<keyof VerifyResponse["policy_action"], "verdict" | "log_reason">
  | Exclude<keyof CheckResponse, StampMember | LegMember | "stakes" | "allowed">
  | Exclude<keyof HandshakeResponse, HandshakeMember>;

/** Compiles while nothing is missing. */
const _complete: [Missing] extends [never] ? true : never = true;
void _complete;

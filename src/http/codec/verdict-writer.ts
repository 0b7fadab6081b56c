// JSON text of checks and handshakes, by hand (verify-writer.ts has the third hot reply). Request
// ids are tokens (checked where they enter), times and labels are ours: they are wrapped in quotes;
// all other text is escaped. Byte for byte the result of JSON.stringify for members in the order of
// contract/schemas/scores.ts; a compile error below reveals a missing member.
import type {
  CheckResponse,
  HandshakeResponse,
  Leg,
  VerdictStamp,
} from "../../contract/schemas/scores.ts";
import { formatJsonNumber, formatJsonString, formatJsonStringArray } from "./json-text.ts";

let lastTimes = { evaluatedAt: "", expiresAt: "", text: "" };

/** The two times, as text kept for all replies of one millisecond. */
export function formatTimeMembers(
  stamp: Pick<VerdictStamp, "evaluated_at" | "expires_at">,
): string {
  const { evaluated_at, expires_at } = stamp;
  if (evaluated_at !== lastTimes.evaluatedAt || expires_at !== lastTimes.expiresAt) {
    const text = `,"evaluated_at":"${evaluated_at}","expires_at":"${expires_at}"`;
    lastTimes = { evaluatedAt: evaluated_at, expiresAt: expires_at, text };
  }
  return lastTimes.text;
}

/** SPEC §4.3 as JSON: a leg, its stamp, and the answer. */
export function formatCheckJson(response: CheckResponse): string {
  return (
    `{${formatLegMembers(response)},${formatStampMembers(response)},"stakes":${formatJsonNumber(response.stakes)}` +
    `,"allowed":${response.allowed},"enforced":${response.enforced}}`
  );
}

/** SPEC §2.5 as JSON. */
export function formatHandshakeJson(response: HandshakeResponse): string {
  return (
    `{"initiator":${formatJsonString(response.initiator)},"counterparty":${formatJsonString(response.counterparty)}` +
    `,"stakes":${formatJsonNumber(response.stakes)},"a_to_b":{${formatLegMembers(response.a_to_b)}}` +
    `,"b_to_a":{${formatLegMembers(response.b_to_a)}},"decision":"${response.decision}"` +
    `,"connected":${response.connected},"reasons":${formatJsonStringArray(response.reasons)}` +
    `,"enforced":${response.enforced},${formatStampMembers(response)}}`
  );
}

function formatLegMembers(leg: Leg): string {
  const regime = leg.regime === undefined ? "" : `,"regime":"${leg.regime}"`;
  const stakesMax = leg.max_stakes === null ? "null" : formatJsonNumber(leg.max_stakes);
  return (
    `"subject":${formatJsonString(leg.subject)},"effective_score":${formatJsonNumber(leg.effective_score)}` +
    `,"tier":"${leg.tier}"${regime},"decision":"${leg.decision}"` +
    `,"reasons":${formatJsonStringArray(leg.reasons)},"reason_codes":${formatPlainStringArray(leg.reason_codes)}` +
    `,"max_stakes":${stakesMax},"tool_level_max":"${leg.tool_level_max}"` +
    (leg.review === undefined ? "" : `,"review":${JSON.stringify(leg.review)}`)
  );
}

function formatStampMembers(stamp: VerdictStamp): string {
  return (
    `"request_id":"${stamp.request_id}","config_version":"${stamp.config_version}"` +
    formatTimeMembers(stamp)
  );
}

/** Codes and labels of ours: letters, digits and underscores, so quoting them is wrapping them. */
export function formatPlainStringArray(codes: readonly string[]): string {
  if (codes.length === 0) return "[]";
  let list = `["${codes[0]}`;
  for (let index = 1; index < codes.length; index += 1) list += `","${codes[index]}`;
  return `${list}"]`;
}

// Every member above, by name: a new member in the schema fails to compile here until it is
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
  | "max_stakes"
  | "tool_level_max"
  | "review";
type HandshakeMember =
  | StampMember
  | "initiator"
  | "counterparty"
  | "stakes"
  | "a_to_b"
  | "b_to_a"
  | "decision"
  | "connected"
  | "reasons"
  | "enforced";

type UnwrittenMember =
  | Exclude<keyof CheckResponse, StampMember | LegMember | "stakes" | "allowed" | "enforced">
  | Exclude<keyof HandshakeResponse, HandshakeMember>;

/** Compiles while nothing is missing. */
const _complete: [UnwrittenMember] extends [never] ? true : never = true;
void _complete;

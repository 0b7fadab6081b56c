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
import type { RiskLevel } from "../contract/vocabulary.ts";

/** SPEC §2.3 as JSON. */
export function writeVerify(response: VerifyResponse): string {
  const { provenance_data: provenance, policy_action: policy } = response;
  const sources =
    provenance.sources === undefined ? "" : `,"sources":${sourceList(provenance.sources)}`;
  return (
    `{"request_id":"${response.request_id}","trust_evaluation":{` +
    scoreMembers(response.trust_evaluation) +
    (provenance.is_hallucinated ? HALLUCINATED : SOUND) +
    `${provenance.source_verified},"reason":${quote(provenance.reason)}${sources}` +
    `},"policy_action":{"verdict":"${policy.verdict}","log_reason":"${policy.log_reason}"}` +
    `,"reason_codes":${wrapAll(response.reason_codes)},"enforced":${response.enforced}` +
    `,"config_version":"${response.config_version}"${timeMembers(response)}}`
  );
}

const HALLUCINATED = '},"provenance_data":{"is_hallucinated":true,"source_verified":';
const SOUND = '},"provenance_data":{"is_hallucinated":false,"source_verified":';

type Trust = VerifyResponse["trust_evaluation"];

const RISK_INDEX: Readonly<Record<RiskLevel, number>> = { LOW: 0, MEDIUM: 1, HIGH: 2, CRITICAL: 3 };
const SCORE_MIN = 300;
const SCORE_MAX = 850;
/** The members up to the internal score, for every whole score, threshold and risk once seen. */
const scoreTexts: (string | undefined)[] = [];
/** Tier and regime, for every pair once seen. */
const standingTexts = new Map<string, Map<string | undefined, string>>();

/**
 * The members of `trust_evaluation`. Joining strings piece by piece was a third of the cost of a
 * reply: what takes few values is joined once and kept.
 */
function scoreMembers(trust: Trust): string {
  const { internal_score: internal } = trust;
  const isUsual =
    Number.isInteger(internal) &&
    internal >= SCORE_MIN &&
    internal <= SCORE_MAX &&
    trust.score === Math.round((100 * (internal - SCORE_MIN)) / (SCORE_MAX - SCORE_MIN));
  if (!isUsual) return `${scoreText(trust)}${standing(trust)}${thousandths(trust.confidence)}`;
  const threshold = trust.threshold_met ? 4 : 0;
  const index = (internal - SCORE_MIN) * 8 + threshold + RISK_INDEX[trust.risk_level];
  const known = (scoreTexts[index] ??= scoreText(trust));
  return known + standing(trust) + thousandths(trust.confidence);
}

function scoreText(trust: Trust): string {
  return (
    `"score":${num(trust.score)},"threshold_met":${trust.threshold_met}` +
    `,"risk_level":"${trust.risk_level}","internal_score":${num(trust.internal_score)}`
  );
}

function standing({ tier, regime }: Trust): string {
  let byRegime = standingTexts.get(tier);
  if (byRegime === undefined) standingTexts.set(tier, (byRegime = new Map()));
  let text = byRegime.get(regime);
  if (text === undefined) {
    const member = regime === undefined ? "" : `,"regime":"${regime}"`;
    byRegime.set(regime, (text = `,"tier":"${tier}"${member},"confidence":`));
  }
  return text;
}

let lastTimes = { evaluatedAt: "", expiresAt: "", text: "" };

/** The two times, as text kept for all replies of one millisecond. */
function timeMembers({ evaluated_at, expires_at }: VerdictStamp | VerifyResponse): string {
  if (evaluated_at !== lastTimes.evaluatedAt || expires_at !== lastTimes.expiresAt) {
    const text = `,"evaluated_at":"${evaluated_at}","expires_at":"${expires_at}"`;
    lastTimes = { evaluatedAt: evaluated_at, expiresAt: expires_at, text };
  }
  return lastTimes.text;
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
    timeMembers(stamp)
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

const KEPT_LENGTH_MIN = 32;
let lastQuoted = { text: "", quoted: '""' };

/**
 * A JSON string; only text that needs escaping pays for the native serialiser. The last long one is
 * kept: the same sentence goes out many times in a row.
 */
function quote(text: string): string {
  if (text.length < KEPT_LENGTH_MIN) return escape(text);
  if (text !== lastQuoted.text) lastQuoted = { text, quoted: escape(text) };
  return lastQuoted.quoted;
}

/** What JSON writes as it is: ASCII but for control characters, the quote and the backslash. */
const NEEDS_ESCAPE = /[^ !#-[\]-~]/;

function escape(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
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

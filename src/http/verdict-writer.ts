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
import type { Regime, RiskLevel, Tier } from "../contract/vocabulary.ts";
import { escape, flat, keep, num, quote, quoteAll, thousandths } from "./json-text.ts";

/**
 * SPEC §2.3 as JSON. A reply is joined from few and long pieces: each one costs about as much when
 * the text is laid out flat as printing a number does, so what takes few values is joined once and
 * kept.
 */
export function writeVerify(response: VerifyResponse): string {
  const { sources } = response.provenance_data;
  const listed = sources === undefined ? "}" : `,"sources":[${sourceList(sources)}]}`;
  return (
    `{"request_id":"${response.request_id}` +
    trustText(response.trust_evaluation) +
    provenanceText(response.provenance_data) +
    listed +
    policyText(response.policy_action) +
    wrapAll(response.reason_codes) +
    stampText(response)
  );
}

type Trust = VerifyResponse["trust_evaluation"];

const TRUST = '","trust_evaluation":{';
const RISK_INDEX: Readonly<Record<RiskLevel, number>> = { LOW: 0, MEDIUM: 1, HIGH: 2, CRITICAL: 3 };
const TIER_INDEX: Readonly<Record<Tier, number>> = { A: 0, B: 1, C: 2, D: 3, REVIEW: 4 };
const REGIME_INDEX: Readonly<Record<Regime, number>> = { stable: 0, drifting: 1, shock: 2 };
const NO_REGIME = 3;
const SCORE_MIN = 300;
const SCORE_MAX = 850;
/** Values of threshold, risk, tier and regime together. */
const STANDINGS = 2 * 4 * 5 * 4;
/** The members up to the confidence, for every whole score and standing once seen. */
const trustTexts: (string | undefined)[] = Array.from({
  length: (SCORE_MAX - SCORE_MIN + 1) * STANDINGS,
});

function trustText(trust: Trust): string {
  const { internal_score: internal, regime } = trust;
  const isUsual =
    Number.isInteger(internal) &&
    internal >= SCORE_MIN &&
    internal <= SCORE_MAX &&
    trust.score === Math.round((100 * (internal - SCORE_MIN)) / (SCORE_MAX - SCORE_MIN));
  if (!isUsual) return scoreText(trust) + thousandths(trust.confidence);
  const threshold = trust.threshold_met ? 4 : 0;
  const standing = (threshold + RISK_INDEX[trust.risk_level]) * 5 + TIER_INDEX[trust.tier];
  const regimeIndex = regime === undefined ? NO_REGIME : REGIME_INDEX[regime];
  const index = (internal - SCORE_MIN) * STANDINGS + standing * 4 + regimeIndex;
  return (trustTexts[index] ??= flat(scoreText(trust))) + thousandths(trust.confidence);
}

function scoreText(trust: Trust): string {
  const regime = trust.regime === undefined ? "" : `,"regime":"${trust.regime}"`;
  return (
    `${TRUST}"score":${num(trust.score)},"threshold_met":${trust.threshold_met}` +
    `,"risk_level":"${trust.risk_level}","internal_score":${num(trust.internal_score)}` +
    `,"tier":"${trust.tier}"${regime},"confidence":`
  );
}

type Provenance = VerifyResponse["provenance_data"];

/** By what is said of the text and its sources, then by the sentence. */
const provenanceTexts = [0, 1, 2, 3].map(() => new Map<string, string>());

/** The members up to the reason. */
function provenanceText({ is_hallucinated, source_verified, reason }: Provenance): string {
  const texts = provenanceTexts[(is_hallucinated ? 2 : 0) + (source_verified ? 1 : 0)]!;
  const known = texts.get(reason);
  if (known !== undefined) return known;
  const text =
    `},"provenance_data":{"is_hallucinated":${is_hallucinated}` +
    `,"source_verified":${source_verified},"reason":${escape(reason)}`;
  return keep(texts, reason, text);
}

type Policy = VerifyResponse["policy_action"];

/** Labels are few and ours: one text each, but where one label has drawn several verdicts. */
const policyTexts = new Map<string, Map<string, string>>();
let lastPolicy = { verdict: "", log_reason: "", text: "" };

/** The verdict with its label, up to the list of codes. */
function policyText({ verdict, log_reason }: Policy): string {
  if (lastPolicy.log_reason !== log_reason || lastPolicy.verdict !== verdict) {
    lastPolicy = { verdict, log_reason, text: policyTextOf(verdict, log_reason) };
  }
  return lastPolicy.text;
}

function policyTextOf(verdict: string, label: string): string {
  let texts = policyTexts.get(verdict);
  if (texts === undefined) policyTexts.set(verdict, (texts = new Map()));
  const action = `"verdict":"${verdict}","log_reason":"${label}"`;
  return texts.get(label) ?? keep(texts, label, `,"policy_action":{${action}},"reason_codes":`);
}

let lastStamp = { enforced: false, configVersion: "", times: "", text: "" };

/** The end of a reply, kept for all replies of one millisecond. */
function stampText(response: VerifyResponse): string {
  const { enforced, config_version: configVersion } = response;
  const times = timeMembers(response);
  const isSame =
    lastStamp.times === times &&
    lastStamp.configVersion === configVersion &&
    lastStamp.enforced === enforced;
  if (!isSame) {
    const text = flat(`,"enforced":${enforced},"config_version":"${configVersion}"${times}}`);
    lastStamp = { enforced, configVersion, times, text };
  }
  return lastStamp.text;
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

const codeTexts = new Map<string, string>();

/** Codes and labels of ours: letters, digits and underscores, so quoting them is wrapping them. */
function wrapAll(codes: readonly string[]): string {
  if (codes.length === 0) return "[]";
  const first = codes[0]!;
  if (codes.length === 1) return codeTexts.get(first) ?? keep(codeTexts, first, `["${first}"]`);
  let list = `["${first}`;
  for (let index = 1; index < codes.length; index += 1) list += `","${codes[index]}`;
  return `${list}"]`;
}

function sourceList(sources: readonly { id: string; status: string }[]): string {
  let list = "";
  for (let index = 0; index < sources.length; index += 1) {
    const { id, status } = sources[index] as { id: string; status: string };
    if (status !== lastStatus.status) lastStatus = { status, text: statusText(status) };
    list += (index === 0 ? '{"id":' : ',{"id":') + quote(id) + lastStatus.text;
  }
  return list;
}

const statusTexts = new Map<string, string>();
let lastStatus = { status: "", text: "" };

function statusText(status: string): string {
  return statusTexts.get(status) ?? keep(statusTexts, status, `,"status":"${status}"}`);
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

// JSON bytes of the verdict of verify (SPEC §2.3): byte for byte the result of JSON.stringify for
// members in the order of contract/schemas/scores.ts; a compile error below reveals a missing one. A
// piece with few values is laid out once and copied: joining strings and laying them out flat was a
// fifth of the cost of a reply. One buffer per thread, overwritten by the next verdict.
import { SCORE_MAX, SCORE_MIN } from "../../contract/units.ts";
import type { VerifyResponse } from "../../contract/schemas/scores.ts";
import type { Regime, RiskLevel, Tier } from "../../contract/vocabulary.ts";
import { formatJsonNumber, writeJsonNumber } from "./json-text.ts";
import { writeRequestId } from "./request-id.ts";
import { formatTimeMembers } from "./verdict-writer.ts";

type TrustEvaluation = VerifyResponse["trust_evaluation"];
type ProvenanceData = VerifyResponse["provenance_data"];
type PolicyAction = VerifyResponse["policy_action"];

const BUFFER_BYTES = 16_384;
/** Most bytes of a character: `\\u001f`. */
const BYTES_PER_CHARACTER = 6;
const JSON_START = '{"request_id":"';

let outputBuffer = Buffer.from(new ArrayBuffer(BUFFER_BYTES));
/** Views of the buffer from its start, by length: making one costs as much as copying a piece. */
let outputViews: (Uint8Array | undefined)[] = [];
let outputOffset = outputBuffer.write(JSON_START, "latin1");

/** The verdict as JSON. The view is valid until the next call; copy it to keep it. */
export function encodeVerifyJson(response: VerifyResponse): Uint8Array {
  const { sources } = response.provenance_data;
  // Tokens of 128 characters at most: the pieces before the first unbounded one fit.
  outputOffset =
    JSON_START.length + writeRequestId(response.request_id, outputBuffer, JSON_START.length);
  putTrust(response.trust_evaluation);
  putBytes(encodeProvenancePiece(response.provenance_data));
  if (sources !== undefined) putSources(sources);
  putBytes(selectPolicyPiece(response.policy_action));
  putCodes(response.reason_codes);
  putStakes(response.max_stakes);
  putBytes(encodeStampPiece(response));
  if (response.levels !== undefined) putFinalMember("levels", response.levels);
  if (response.review !== undefined) putFinalMember("review", response.review);
  if (response.action_entry !== undefined) putFinalMember("action_entry", response.action_entry);
  return (outputViews[outputOffset] ??= new Uint8Array(outputBuffer.buffer, 0, outputOffset));
}

/** Makes space for `length` more bytes. */
function ensureCapacity(length: number): void {
  if (outputOffset + length <= outputBuffer.length) return;
  const grown = Buffer.from(new ArrayBuffer(2 * (outputOffset + length)));
  grown.set(outputBuffer.subarray(0, outputOffset));
  outputBuffer = grown;
  outputViews = [];
}

function putBytes(piece: Uint8Array): void {
  ensureCapacity(piece.length);
  outputBuffer.set(piece, outputOffset);
  outputOffset += piece.length;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A JSON string; only what needs escaping pays for the native serialiser. */
function putString(text: string): void {
  const { length } = text;
  ensureCapacity(BYTES_PER_CHARACTER * length + 2);
  let to = outputOffset;
  outputBuffer[to++] = QUOTE;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
      outputOffset += outputBuffer.write(JSON.stringify(text), outputOffset);
      return;
    }
    outputBuffer[to++] = code;
  }
  outputBuffer[to++] = QUOTE;
  outputOffset = to;
}

/** Most bytes of a number as JSON.stringify writes it. */
const NUMBER_BYTES = 32;
/** Pieces kept in one memory; past it the memory starts anew. */
const CACHED_PIECES_MAX = 512;

/** Keeps the piece of `text` under `key`; a rare one is lost again when the memory starts anew. */
function cachePiece(
  pieces: Map<string, Uint8Array | undefined>,
  key: string,
  text: string,
): Uint8Array {
  if (pieces.size >= CACHED_PIECES_MAX) pieces.clear();
  const piece = Buffer.from(text);
  // A key cut out of a request would keep all of its body alive.
  pieces.set(Buffer.from(key).toString(), piece);
  return piece;
}

const RISK_INDEX: Readonly<Record<RiskLevel, number>> = { LOW: 0, MEDIUM: 1, HIGH: 2, CRITICAL: 3 };
const TIER_INDEX: Readonly<Record<Tier, number>> = { A: 0, B: 1, C: 2, D: 3, REVIEW: 4 };
const REGIME_INDEX: Readonly<Record<Regime, number>> = { stable: 0, drifting: 1, shock: 2 };
const NO_REGIME = 3;
/** Values of threshold, risk, tier and regime together. */
const TRUST_COMBINATIONS = 2 * 4 * 5 * 4;
/** The members up to the confidence, by whole score and combination, once met. */
const trustPieces: (Uint8Array | undefined)[] = Array.from({
  length: (SCORE_MAX - SCORE_MIN + 1) * TRUST_COMBINATIONS,
});
function putTrust(trust: TrustEvaluation): void {
  const { internal_score: internal, confidence, regime } = trust;
  const isUsual =
    Number.isInteger(internal) &&
    internal >= SCORE_MIN &&
    internal <= SCORE_MAX &&
    trust.score === Math.round((100 * (internal - SCORE_MIN)) / (SCORE_MAX - SCORE_MIN));
  if (isUsual) {
    const threshold = trust.threshold_met ? 4 : 0;
    const standing = (threshold + RISK_INDEX[trust.risk_level]) * 5 + TIER_INDEX[trust.tier];
    const regimeIndex = regime === undefined ? NO_REGIME : REGIME_INDEX[regime];
    const index = (internal - SCORE_MIN) * TRUST_COMBINATIONS + standing * 4 + regimeIndex;
    putBytes((trustPieces[index] ??= Buffer.from(formatTrustMembers(trust))));
  } else putBytes(Buffer.from(formatTrustMembers(trust)));
  ensureCapacity(NUMBER_BYTES);
  outputOffset = writeJsonNumber(outputBuffer, outputOffset, confidence);
}

function formatTrustMembers(trust: TrustEvaluation): string {
  const regime = trust.regime === undefined ? "" : `,"regime":"${trust.regime}"`;
  return (
    `","trust_evaluation":{"score":${formatJsonNumber(trust.score)},"threshold_met":${trust.threshold_met}` +
    `,"risk_level":"${trust.risk_level}","internal_score":${formatJsonNumber(trust.internal_score)}` +
    `,"tier":"${trust.tier}"${regime},"confidence":`
  );
}

/** By the findings on the text and its sources, then by the sentence. */
const provenancePieces = [0, 1, 2, 3].map(() => new Map<string, Uint8Array>());

/** The members up to the reason. */
function encodeProvenancePiece({
  is_hallucinated,
  source_verified,
  reason,
}: ProvenanceData): Uint8Array {
  const pieces = provenancePieces[(is_hallucinated ? 2 : 0) + (source_verified ? 1 : 0)]!;
  const known = pieces.get(reason);
  if (known !== undefined) return known;
  const text =
    `},"provenance_data":{"is_hallucinated":${is_hallucinated}` +
    `,"source_verified":${source_verified},"reason":${JSON.stringify(reason)}`;
  return cachePiece(pieces, reason, text);
}

const SOURCES_MEMBER = Buffer.from(',"sources":');
const EMPTY_SOURCES_MEMBER = Buffer.from(',"sources":[]');
const END_OF_ARRAY = Buffer.from("]");
const OPEN_ARRAY = 0x5b;
const SOURCE_ID_START = Buffer.from(',{"id":');
/** Sources by identifier, up to their status; undefined when met once, the name kept as it came. */
const sourceIdPieces = new Map<string, Uint8Array | undefined>();
const statusPieces = new Map<string, Uint8Array>();
let lastStatus: { status: string; piece: Uint8Array } = { status: "", piece: EMPTY_SOURCES_MEMBER };

function encodeStatusPiece(status: string): Uint8Array {
  return statusPieces.get(status) ?? cachePiece(statusPieces, status, `,"status":"${status}"}`);
}

/** For a source cited only once, laying out a piece would cost more than it ever saves. */
function putSourceId(id: string): void {
  const known = sourceIdPieces.get(id);
  if (known !== undefined) return putBytes(known);
  putBytes(SOURCE_ID_START);
  putString(id);
  if (sourceIdPieces.has(id)) cachePiece(sourceIdPieces, id, `,{"id":${JSON.stringify(id)}`);
  else {
    if (sourceIdPieces.size >= CACHED_PIECES_MAX) sourceIdPieces.clear();
    sourceIdPieces.set(id, undefined);
  }
}

function putSources(sources: NonNullable<ProvenanceData["sources"]>): void {
  if (sources.length === 0) return putBytes(EMPTY_SOURCES_MEMBER);
  putBytes(SOURCES_MEMBER);
  const first = outputOffset;
  for (const { id, status } of sources) {
    putSourceId(id);
    if (status !== lastStatus.status) lastStatus = { status, piece: encodeStatusPiece(status) };
    putBytes(lastStatus.piece);
  }
  // Every element begins with a comma; the first one's place is the bracket's.
  outputBuffer[first] = OPEN_ARRAY;
  putBytes(END_OF_ARRAY);
}

const policyPieces = new Map<string, Map<string, Uint8Array>>();
let lastPolicy: { verdict: string; label: string; piece: Uint8Array } = {
  verdict: "",
  label: "",
  piece: EMPTY_SOURCES_MEMBER,
};

/** The verdict with its label, up to the list of codes. Labels are few and ours. */
function selectPolicyPiece({ verdict, log_reason: label }: PolicyAction): Uint8Array {
  if (label !== lastPolicy.label || verdict !== lastPolicy.verdict) {
    lastPolicy = { verdict, label, piece: encodePolicyPiece(verdict, label) };
  }
  return lastPolicy.piece;
}

function encodePolicyPiece(verdict: string, label: string): Uint8Array {
  let pieces = policyPieces.get(verdict);
  if (pieces === undefined) policyPieces.set(verdict, (pieces = new Map()));
  const action = `"verdict":"${verdict}","log_reason":"${label}"`;
  return (
    pieces.get(label) ?? cachePiece(pieces, label, `},"policy_action":{${action}},"reason_codes":`)
  );
}

const EMPTY_ARRAY = Buffer.from("[]");
/** Each code behind its comma; there are few, and all are ours. */
const codePieces = new Map<string, Uint8Array>();

function putCodes(codes: readonly string[]): void {
  if (codes.length === 0) return putBytes(EMPTY_ARRAY);
  const first = outputOffset;
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index]!;
    putBytes(codePieces.get(code) ?? cachePiece(codePieces, code, `,"${code}"`));
  }
  outputBuffer[first] = OPEN_ARRAY;
  putBytes(END_OF_ARRAY);
}

const UNLIMITED_STAKES_MEMBER = Buffer.from(',"max_stakes":null');
const STAKES_MEMBER = Buffer.from(',"max_stakes":');

function putStakes(stakes: number | null): void {
  if (stakes === null) return putBytes(UNLIMITED_STAKES_MEMBER);
  putBytes(STAKES_MEMBER);
  ensureCapacity(NUMBER_BYTES);
  outputOffset = writeJsonNumber(outputBuffer, outputOffset, stakes);
}

/** Names of a config and of a policy have a few dozen characters. */
const stampBuffer = Buffer.alloc(1024);
let lastStamp = {
  enforced: false,
  configVersion: "",
  policyVersion: "",
  times: "",
  piece: stampBuffer,
};

/** The end of a reply, kept for all replies of one millisecond. */
function encodeStampPiece(response: VerifyResponse): Uint8Array {
  const { enforced, config_version: configVersion, policy_version: policyVersion } = response;
  const times = formatTimeMembers(response);
  const isSame =
    lastStamp.times === times &&
    lastStamp.configVersion === configVersion &&
    lastStamp.policyVersion === policyVersion &&
    lastStamp.enforced === enforced;
  if (!isSame) {
    const names = `"config_version":"${configVersion}","policy_version":"${policyVersion}"`;
    // In one place: a new buffer each millisecond is a pool of them each second.
    const length = stampBuffer.write(`,"enforced":${enforced},${names}${times}}`, "latin1");
    const piece = stampBuffer.subarray(0, length);
    lastStamp = { enforced, configVersion, policyVersion, times, piece };
  }
  return lastStamp.piece;
}

/** In place of the closing brace; members that few replies have, and that are ever different. */
function putFinalMember(name: "levels" | "review" | "action_entry", value: object): void {
  outputOffset -= 1;
  putBytes(Buffer.from(`,"${name}":${JSON.stringify(value)}}`));
}

// Every member above, by name: a new member in the schema fails to compile here until it is
// written.
type WrittenMembers = {
  response:
    | "request_id"
    | "trust_evaluation"
    | "provenance_data"
    | "policy_action"
    | "reason_codes"
    | "max_stakes"
    | "enforced"
    | "config_version"
    | "policy_version"
    | "evaluated_at"
    | "expires_at"
    | "levels"
    | "review"
    | "action_entry";
  trust:
    | "score"
    | "threshold_met"
    | "risk_level"
    | "internal_score"
    | "tier"
    | "regime"
    | "confidence";
  provenance: "is_hallucinated" | "source_verified" | "reason" | "sources";
  policy: "verdict" | "log_reason";
};
type UnwrittenMember =
  | Exclude<keyof VerifyResponse, WrittenMembers["response"]>
  | Exclude<keyof TrustEvaluation, WrittenMembers["trust"]>
  | Exclude<keyof ProvenanceData, WrittenMembers["provenance"]>
  | Exclude<keyof PolicyAction, WrittenMembers["policy"]>;

/** Compiles while nothing is missing. */
const _complete: [UnwrittenMember] extends [never] ? true : never = true;
void _complete;

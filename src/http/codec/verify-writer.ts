// JSON bytes of the verdict of verify (SPEC §2.3): byte for byte the result of JSON.stringify for
// members in the order of contract/schemas/scores.ts; a compile error below reveals a missing one. A
// piece with few values is laid out once and copied: joining strings and laying them out flat was a
// fifth of the cost of a reply. One buffer per thread, overwritten by the next verdict.
import type { VerifyResponse } from "../../contract/schemas/scores.ts";
import type { Regime, RiskLevel, Tier } from "../../contract/vocabulary.ts";
import { num, writeNumber } from "./json-text.ts";
import { writeId } from "./request-id.ts";
import { timeMembers } from "./verdict-writer.ts";

type Trust = VerifyResponse["trust_evaluation"];
type Provenance = VerifyResponse["provenance_data"];
type Policy = VerifyResponse["policy_action"];

const BUFFER_BYTES = 16_384;
/** Most bytes of a character: `\\u001f`. */
const BYTES_PER_UNIT = 6;
const START = '{"request_id":"';

let out = Buffer.from(new ArrayBuffer(BUFFER_BYTES));
/** Views of the buffer from its start, by length: making one costs as much as copying a piece. */
let views: (Uint8Array | undefined)[] = [];
let at = out.write(START, "latin1");

/** The verdict as JSON. The view is valid until the next call; copy it to keep it. */
export function verifyBytes(response: VerifyResponse): Uint8Array {
  const { sources } = response.provenance_data;
  // Tokens of 128 characters at most: the pieces before the first unbounded one fit.
  at = START.length + writeId(response.request_id, out, START.length);
  putTrust(response.trust_evaluation);
  put(provenancePiece(response.provenance_data));
  if (sources !== undefined) putSources(sources);
  put(policyPiece(response.policy_action));
  putCodes(response.reason_codes);
  putStakes(response.max_stakes);
  put(stampPiece(response));
  if (response.levels !== undefined) putLast("levels", response.levels);
  if (response.review !== undefined) putLast("review", response.review);
  return (views[at] ??= new Uint8Array(out.buffer, 0, at));
}

/** Makes space for `length` more bytes. */
function reserve(length: number): void {
  if (at + length <= out.length) return;
  const grown = Buffer.from(new ArrayBuffer(2 * (at + length)));
  grown.set(out.subarray(0, at));
  out = grown;
  views = [];
}

function put(piece: Uint8Array): void {
  reserve(piece.length);
  out.set(piece, at);
  at += piece.length;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A JSON string; only what needs escaping pays for the native serialiser. */
function putString(text: string): void {
  const { length } = text;
  reserve(BYTES_PER_UNIT * length + 2);
  let to = at;
  out[to++] = QUOTE;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
      at += out.write(JSON.stringify(text), at);
      return;
    }
    out[to++] = code;
  }
  out[to++] = QUOTE;
  at = to;
}

/** Most bytes of a number as JSON.stringify writes it. */
const NUMBER_BYTES = 32;
/** Pieces kept in one memory; past it the memory starts anew. */
const KEPT_MAX = 512;

/** Keeps the piece of `text` under `key`; a rare one is lost again when the memory starts anew. */
function keep(pieces: Map<string, Uint8Array | undefined>, key: string, text: string): Uint8Array {
  if (pieces.size >= KEPT_MAX) pieces.clear();
  const piece = Buffer.from(text);
  // A key cut out of a request would keep all of its body alive.
  pieces.set(Buffer.from(key).toString(), piece);
  return piece;
}

const RISK_INDEX: Readonly<Record<RiskLevel, number>> = { LOW: 0, MEDIUM: 1, HIGH: 2, CRITICAL: 3 };
const TIER_INDEX: Readonly<Record<Tier, number>> = { A: 0, B: 1, C: 2, D: 3, REVIEW: 4 };
const REGIME_INDEX: Readonly<Record<Regime, number>> = { stable: 0, drifting: 1, shock: 2 };
const NO_REGIME = 3;
const SCORE_MIN = 300;
const SCORE_MAX = 850;
/** Values of threshold, risk, tier and regime together. */
const TRUST_COMBINATIONS = 2 * 4 * 5 * 4;
/** The members up to the confidence, by whole score and combination, once met. */
const trustPieces: (Uint8Array | undefined)[] = Array.from({
  length: (SCORE_MAX - SCORE_MIN + 1) * TRUST_COMBINATIONS,
});
function putTrust(trust: Trust): void {
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
    put((trustPieces[index] ??= Buffer.from(trustText(trust))));
  } else put(Buffer.from(trustText(trust)));
  reserve(NUMBER_BYTES);
  at = writeNumber(out, at, confidence);
}

function trustText(trust: Trust): string {
  const regime = trust.regime === undefined ? "" : `,"regime":"${trust.regime}"`;
  return (
    `","trust_evaluation":{"score":${num(trust.score)},"threshold_met":${trust.threshold_met}` +
    `,"risk_level":"${trust.risk_level}","internal_score":${num(trust.internal_score)}` +
    `,"tier":"${trust.tier}"${regime},"confidence":`
  );
}

/** By the findings on the text and its sources, then by the sentence. */
const provenancePieces = [0, 1, 2, 3].map(() => new Map<string, Uint8Array>());

/** The members up to the reason. */
function provenancePiece({ is_hallucinated, source_verified, reason }: Provenance): Uint8Array {
  const pieces = provenancePieces[(is_hallucinated ? 2 : 0) + (source_verified ? 1 : 0)]!;
  const known = pieces.get(reason);
  if (known !== undefined) return known;
  const text =
    `},"provenance_data":{"is_hallucinated":${is_hallucinated}` +
    `,"source_verified":${source_verified},"reason":${JSON.stringify(reason)}`;
  return keep(pieces, reason, text);
}

const SOURCES = Buffer.from(',"sources":');
const NO_SOURCES = Buffer.from(',"sources":[]');
const END_OF_ARRAY = Buffer.from("]");
const OPEN_ARRAY = 0x5b;
const NAME = Buffer.from(',{"id":');
/** Sources by identifier, up to their status; undefined when met once, the name kept as it came. */
const namePieces = new Map<string, Uint8Array | undefined>();
const statusPieces = new Map<string, Uint8Array>();
let lastStatus: { status: string; piece: Uint8Array } = { status: "", piece: NO_SOURCES };

function statusPiece(status: string): Uint8Array {
  return statusPieces.get(status) ?? keep(statusPieces, status, `,"status":"${status}"}`);
}

/** For a source cited only once, laying out a piece would cost more than it ever saves. */
function putName(id: string): void {
  const known = namePieces.get(id);
  if (known !== undefined) return put(known);
  put(NAME);
  putString(id);
  if (namePieces.has(id)) keep(namePieces, id, `,{"id":${JSON.stringify(id)}`);
  else {
    if (namePieces.size >= KEPT_MAX) namePieces.clear();
    namePieces.set(id, undefined);
  }
}

function putSources(sources: NonNullable<Provenance["sources"]>): void {
  if (sources.length === 0) return put(NO_SOURCES);
  put(SOURCES);
  const first = at;
  for (const { id, status } of sources) {
    putName(id);
    if (status !== lastStatus.status) lastStatus = { status, piece: statusPiece(status) };
    put(lastStatus.piece);
  }
  // Every element begins with a comma; the first one's place is the bracket's.
  out[first] = OPEN_ARRAY;
  put(END_OF_ARRAY);
}

const policyPieces = new Map<string, Map<string, Uint8Array>>();
let lastPolicy: { verdict: string; label: string; piece: Uint8Array } = {
  verdict: "",
  label: "",
  piece: NO_SOURCES,
};

/** The verdict with its label, up to the list of codes. Labels are few and ours. */
function policyPiece({ verdict, log_reason: label }: Policy): Uint8Array {
  if (label !== lastPolicy.label || verdict !== lastPolicy.verdict) {
    lastPolicy = { verdict, label, piece: encodePolicyPiece(verdict, label) };
  }
  return lastPolicy.piece;
}

function encodePolicyPiece(verdict: string, label: string): Uint8Array {
  let pieces = policyPieces.get(verdict);
  if (pieces === undefined) policyPieces.set(verdict, (pieces = new Map()));
  const action = `"verdict":"${verdict}","log_reason":"${label}"`;
  return pieces.get(label) ?? keep(pieces, label, `},"policy_action":{${action}},"reason_codes":`);
}

const NO_CODES = Buffer.from("[]");
/** Each code behind its comma; there are few, and all are ours. */
const codePieces = new Map<string, Uint8Array>();

function putCodes(codes: readonly string[]): void {
  if (codes.length === 0) return put(NO_CODES);
  const first = at;
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index]!;
    put(codePieces.get(code) ?? keep(codePieces, code, `,"${code}"`));
  }
  out[first] = OPEN_ARRAY;
  put(END_OF_ARRAY);
}

const ANY_STAKES = Buffer.from(',"max_stakes":null');
const STAKES = Buffer.from(',"max_stakes":');

function putStakes(stakes: number | null): void {
  if (stakes === null) return put(ANY_STAKES);
  put(STAKES);
  reserve(NUMBER_BYTES);
  at = writeNumber(out, at, stakes);
}

/** Names of a config and of a policy have a few dozen characters. */
const stamp = Buffer.alloc(1024);
let lastStamp = { enforced: false, configVersion: "", policyVersion: "", times: "", piece: stamp };

/** The end of a reply, kept for all replies of one millisecond. */
function stampPiece(response: VerifyResponse): Uint8Array {
  const { enforced, config_version: configVersion, policy_version: policyVersion } = response;
  const times = timeMembers(response);
  const isSame =
    lastStamp.times === times &&
    lastStamp.configVersion === configVersion &&
    lastStamp.policyVersion === policyVersion &&
    lastStamp.enforced === enforced;
  if (!isSame) {
    const names = `"config_version":"${configVersion}","policy_version":"${policyVersion}"`;
    // In one place: a new buffer each millisecond is a pool of them each second.
    const length = stamp.write(`,"enforced":${enforced},${names}${times}}`, "latin1");
    const piece = stamp.subarray(0, length);
    lastStamp = { enforced, configVersion, policyVersion, times, piece };
  }
  return lastStamp.piece;
}

/** In place of the closing brace; members that few replies have, and that are ever different. */
function putLast(name: "levels" | "review", value: object): void {
  at -= 1;
  put(Buffer.from(`,"${name}":${JSON.stringify(value)}}`));
}

// Every member above, by name: a new member in the schema fails to compile here until it is
// written.
type Written = {
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
    | "review";
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
type Missing =
  | Exclude<keyof VerifyResponse, Written["response"]>
  | Exclude<keyof Trust, Written["trust"]>
  | Exclude<keyof Provenance, Written["provenance"]>
  | Exclude<keyof Policy, Written["policy"]>;

/** Compiles while nothing is missing. */
const _complete: [Missing] extends [never] ? true : never = true;
void _complete;

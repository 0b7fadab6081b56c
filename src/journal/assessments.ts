// Assessments as journal payload: which agent's text a certain finding was made on, who asked, which
// code, and the digest of the text, by which a repeat is known again. The text itself is never kept.
import assert from "node:assert/strict";
import { ASSESSMENT_KINDS, type Assessment } from "../contract/assessments.ts";
import { hashTenantToAskerNumber } from "../contract/voices.ts";
import type { FoldAssessment } from "../engine/reading.ts";
import { FRAME_HEAD_BYTES } from "./format.ts";

/*
 * Payload, little-endian. Strings are UTF-8, back to back in the order of their lengths. `fea` is an
 * index into ASSESSMENT_KINDS, `asker` the number of the asking tenant as a voice (askerOf).
 *
 *   0   1   2       4       8               16                              48
 *   +---+---+-------+-------+---------------+-------------------------------+
 *   |ver|fea| zero  | asker | assessed f64  | SHA-256 of the content (32)   |
 *   +---+---+-------+-------+---------------+-------------------------------+
 *   48      50      52      54      56
 *   +-------+-------+-------+-------+-- - - - - -+
 *   | agent | tenant| key   | code  | strings    |
 *   +-------+-------+-------+-------+-- - - - - -+
 */
export const ASSESSMENT_HEAD_BYTES = 56;
export const ASSESSMENT_VERSION = 1;
const ASKER_AT = 4;
const TIME_AT = 8;
const DIGEST_AT = 16;
const DIGEST_BYTES = 32;
const LENGTHS_AT = 48;
const STRINGS = ["agent", "tenant", "keyId", "code"] as const;
const UINT16_MAX = 0xffff;

export function encodeAssessment(assessment: Assessment): Buffer {
  const { tenant, kindIndex, digest, assessedAtMs } = assessment;
  const strings = STRINGS.map((name) => Buffer.from(assessment[name]));
  const head = Buffer.alloc(ASSESSMENT_HEAD_BYTES);
  head[0] = ASSESSMENT_VERSION;
  head[1] = kindIndex;
  head.writeUInt32LE(hashTenantToAskerNumber(tenant), ASKER_AT);
  head.writeDoubleLE(assessedAtMs, TIME_AT);
  assert.equal(head.write(digest, DIGEST_AT, "hex"), DIGEST_BYTES, "a digest is 32 bytes");
  for (const [index, { byteLength }] of strings.entries()) {
    assert(byteLength <= UINT16_MAX, "a member is too long for the journal");
    head.writeUInt16LE(byteLength, LENGTHS_AT + index * 2);
  }
  return Buffer.concat([head, ...strings]);
}

/**
 * The assessment in the frame at `at`, and the voice that it was given.
 * @throws Error when its version is unknown.
 */
export function decodeAssessment(bytes: Buffer, at: number): Assessment & FoldAssessment {
  const head = at + FRAME_HEAD_BYTES;
  assert(
    bytes[head] === ASSESSMENT_VERSION,
    `an assessment of version ${bytes[head]} is not known`,
  );
  const kindIndex = bytes[head + 1] as number;
  assert(kindIndex < ASSESSMENT_KINDS.length, "assessment kind out of range");
  let end = head + ASSESSMENT_HEAD_BYTES;
  const text = (index: number) => {
    const from = end;
    end += bytes.readUInt16LE(head + LENGTHS_AT + index * 2);
    return bytes.toString("utf8", from, end);
  };
  return {
    agent: text(0),
    tenant: text(1),
    keyId: text(2),
    code: text(3),
    kindIndex,
    digest: readDigestBytes(bytes, at).toString("hex"),
    assessedAtMs: bytes.readDoubleLE(head + TIME_AT),
    asker: bytes.readUInt32LE(head + ASKER_AT),
  };
}

/** Views that make up the replay identity: a text counts once per agent and tenant. */
export function readAssessmentReplayParts(
  bytes: Buffer,
  at: number,
): { key: Buffer; content: Buffer; idBytes: Buffer } {
  const head = at + FRAME_HEAD_BYTES;
  const from = head + ASSESSMENT_HEAD_BYTES;
  const agentLength = bytes.readUInt16LE(head + LENGTHS_AT);
  const tenantLength = bytes.readUInt16LE(head + LENGTHS_AT + 2);
  const names = bytes.subarray(from, from + agentLength + tenantLength);
  // The length parts the two names; the digest is as long in every record.
  const length = bytes.subarray(head + LENGTHS_AT, head + LENGTHS_AT + 2);
  const content = readDigestBytes(bytes, at);
  return {
    key: Buffer.concat([length, names, content]),
    content,
    idBytes: content.subarray(0, DIGEST_BYTES / 2),
  };
}

function readDigestBytes(bytes: Buffer, at: number): Buffer {
  const from = at + FRAME_HEAD_BYTES + DIGEST_AT;
  return bytes.subarray(from, from + DIGEST_BYTES);
}

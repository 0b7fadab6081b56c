// docs/reference/journal-format.md against bytes that the code writes: its tables are used to read
// them, so that a field that moved, grew or was left out shows.
import { createHash, generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { GRADES, SIGNATURES } from "../../src/contract/vocabulary.ts";
import {
  CHAIN_START,
  COMMIT_PAYLOAD_BYTES,
  encodeCommitFrame,
  encodeGapFrame,
  encodeSegmentHeader,
  FRAME_HEAD_BYTES,
  FRAME_KINDS,
  GAP_PAYLOAD_BYTES,
  SEGMENT_HEADER_BYTES,
  PAYLOAD_BYTES_MAX,
  sealFrame,
  JOURNAL_SEGMENT_BYTES_MAX,
  formatSegmentName,
} from "../../src/journal/format.ts";
import {
  writeOutcomeFrame,
  OUTCOME_HEAD_BYTES,
  computeOutcomeFrameBytesMax,
} from "../../src/journal/outcome.ts";
import { encodeBatchEvidence, addEvidenceId } from "../../src/journal/proof.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import { buildBureauKey } from "../../src/journal/signing-key.ts";
import { ASSESSMENT_HEAD_BYTES, encodeAssessment } from "../../src/journal/assessments.ts";
import { encodeStandings, RULES_BEFORE_STANDINGS } from "../../src/journal/standings.ts";
import { readPage } from "./_generated.ts";
import { layoutUnder, readField, rowsUnder, sizeOf } from "./_tables.ts";

const page = readPage("docs/reference/journal-format.md");
const frame = layoutUnder(page, "## Frame");
const KID = "A".repeat(42) + "E";
const JTI = "01a201fa-c129-7d75-99e0-fc7d3e390fae";
const SIGNATURE = Buffer.alloc(64, 7);

function recordOf(changes: Partial<OutcomeRecord> = {}): OutcomeRecord {
  return {
    outcomeId: JTI,
    idempotencyKey: "k",
    subject: "agent://a/sub",
    reporter: "agent://a/reporter",
    outcome: 1,
    stakes: 12.5,
    gradeIndex: 3,
    signature: "reporter",
    settledAtMs: 1000,
    recordedAtMs: 2000,
    isAgentFault: true,
    tenant: "ten",
    action: "a.b",
    requestId: "req-1",
    source: "api",
    body: Buffer.from("{}"),
    proof: { kind: "own", kid: KID, jti: JTI, protectedText: "eyJ9", signature: SIGNATURE },
    ...changes,
  };
}

function frameOf(record: OutcomeRecord): Buffer {
  const bytes = Buffer.alloc(computeOutcomeFrameBytesMax(record));
  const end = writeOutcomeFrame(record, bytes, 0);
  sealFrame(bytes, 0, 42, 1_700_000_000_000_001);
  return bytes.subarray(0, end);
}

test("kinds of records and limits", () => {
  const kinds = rowsUnder(page, "## Kinds").map(([kind, number]) => `${kind} ${number}`);
  const known = Object.entries(FRAME_KINDS).map(([kind, number]) => `\`${kind}\` ${number}`);
  expect(kinds).toEqual(known);
  expect(page).toContain(`(${JOURNAL_SEGMENT_BYTES_MAX} bytes)`);
  expect(page).toContain(`${PAYLOAD_BYTES_MAX} bytes)`);
  expect(formatSegmentName(1)).toBe(`seg-${"1".padStart(20, "0")}.log`);
});

test("the segment header", () => {
  const layout = layoutUnder(page, "## Segment header");
  expect(sizeOf(layout)).toBe(SEGMENT_HEADER_BYTES);
  const { publicKey } = buildBureauKey(generateKeyPairSync("ed25519").privateKey);
  const nodeId = publicKey.subarray(0, 16);
  const previousChain = Buffer.alloc(32, 9);
  const bytes = encodeSegmentHeader({ nodeId, epoch: 3, firstLsn: 77, publicKey, previousChain });
  const read = (name: string) => readField(layout, bytes, 0, name);
  expect([read("magic"), read("version"), read("epoch"), read("first position")]).toEqual([
    "TRJOURNL",
    1,
    3,
    77,
  ]);
  expect(read("node id")).toBe(nodeId.toString("hex"));
  expect(read("Ed25519 public key")).toBe(publicKey.toString("hex"));
  expect(read("zero")).toBe("00".repeat(16));
  expect(read("chain before")).toBe(previousChain.toString("hex"));
});

test("the frame, the commit and the gap", () => {
  expect(sizeOf(frame)).toBe(FRAME_HEAD_BYTES);
  const commit = layoutUnder(page, "## Commit");
  expect(sizeOf(commit)).toBe(COMMIT_PAYLOAD_BYTES);
  const chain = Buffer.alloc(32, 5);
  const bytes = encodeCommitFrame({ lsn: 8, timeUs: 99, count: 2, chain, signature: SIGNATURE });
  const head = ["length", "position", "time", "kind"].map((name) =>
    readField(frame, bytes, 0, name),
  );
  expect(head).toEqual([COMMIT_PAYLOAD_BYTES, 8, 99, FRAME_KINDS.commit]);
  expect(readField(commit, bytes, FRAME_HEAD_BYTES, "records")).toBe(2);
  expect(readField(commit, bytes, FRAME_HEAD_BYTES, "Ed25519")).toBe(SIGNATURE.toString("hex"));
  expect(readField(commit, bytes, FRAME_HEAD_BYTES, "chain")).toBe(chain.toString("hex"));

  const gap = layoutUnder(page, "## Gap");
  expect(sizeOf(gap)).toBe(GAP_PAYLOAD_BYTES);
  const lost = { firstLost: 5, lastLost: 6, bytesLost: 70 };
  const cut = encodeGapFrame(lost, 1, SIGNATURE, CHAIN_START);
  const stated = ["first", "last", "bytes"].map((name) =>
    readField(gap, cut, FRAME_HEAD_BYTES, name),
  );
  expect(stated).toEqual([5, 6, 70]);
  expect(readField(gap, cut, FRAME_HEAD_BYTES, "Ed25519")).toBe(SIGNATURE.toString("hex"));
});

test("an outcome with its strings, proof and body", () => {
  const layout = layoutUnder(page, "## Outcome");
  const proof = layoutUnder(page, "## Proof");
  expect(sizeOf(layout)).toBe(OUTCOME_HEAD_BYTES);
  const record = recordOf();
  const bytes = frameOf(record);
  const read = (name: string) => readField(layout, bytes, FRAME_HEAD_BYTES, name);
  expect([readField(frame, bytes, 0, "position"), readField(frame, bytes, 0, "time")]).toEqual([
    42, 1_700_000_000_000_001,
  ]);
  expect([read("version"), read("flags"), read("stakes")]).toEqual([1, 3, 12.5]);
  expect([read("settled"), read("recorded")]).toEqual([1000, 2000]);
  expect(read("outcome id")).toBe(JTI.replaceAll("-", ""));
  const names = (start: string) =>
    layout
      .find(({ name }) => name.startsWith(start))!
      .name.slice(start.length)
      .split(", ");
  expect(names("grade: ")[Number(read("grade"))]).toBe(GRADES[record.gradeIndex]);
  expect(names("signature: ")).toEqual([...SIGNATURES]);
  let at = FRAME_HEAD_BYTES + OUTCOME_HEAD_BYTES;
  const texts = layout
    .filter(({ name }) => name.startsWith("length of") && !name.includes("proof"))
    .map(({ name }) => {
      const length = Number(read(name));
      return bytes.toString("utf8", at, (at += length));
    });
  const { subject, reporter, idempotencyKey, tenant, action, requestId, source } = record;
  expect(texts).toEqual([subject, reporter, idempotencyKey, tenant, action, requestId, source]);
  expect(readField(proof, bytes, at, "1 own")).toBe(1);
  expect(readField(proof, bytes, at, "jti")).toBe(JTI.replaceAll("-", ""));
  expect(read("length of the proof")).toBe(113 + "eyJ9".length);
  at += Number(read("length of the proof"));
  expect(bytes.toString("utf8", at)).toBe("{}");
});

test("the voice of an unsigned outcome, and the flag of a first-party key", () => {
  const layout = layoutUnder(page, "## Outcome");
  const { proof: _, ...unsigned } = recordOf({ signature: "none", voice: 0x3ffffff1 });
  const read = (record: OutcomeRecord, name: string) =>
    readField(layout, frameOf(record), FRAME_HEAD_BYTES, name);
  expect([read(unsigned, "voice"), read(unsigned, "flags")]).toEqual([0x3ffffff1, 3]);
  expect(read({ ...unsigned, isFirstParty: true }, "flags")).toBe(11);
  expect(read(recordOf({ voice: 5 }), "voice"), "signed: its reporter's").toBe(0);
  expect(read(recordOf({ voice: 5, signerVoice: 7 }), "voice"), "signed: a tenant's").toBe(7);
});

test("a signed batch and standings", () => {
  const layout = layoutUnder(page, "## Signed batch");
  const signed = { kid: KID, jti: JTI, protectedText: "eyJ9", signature: SIGNATURE };
  const evidence = addEvidenceId({ ...signed, recordedAtMs: 5, body: Buffer.from("[]") });
  const bytes = encodeBatchEvidence(evidence);
  const read = (name: string) => readField(layout, bytes, 0, name);
  expect([read("1"), read("recorded"), read("length")]).toEqual([1, 5, 4]);
  expect(read("evidence id")).toBe(evidence.evidenceId.replaceAll("-", ""));
  expect(read("Ed25519")).toBe(SIGNATURE.toString("hex"));
  expect(bytes.toString("latin1", sizeOf(layout))).toBe("eyJ9[]");

  const head = layoutUnder(page, "## Standings");
  const agents = [{ agent: "agent://a/b", flags: 8, credibility: 0.5, cluster: 3 }];
  const batch = { isInForce: true, stakesHigh: 9, agents, computedFrom: 11 };
  const [part] = encodeStandings(batch, RULES_BEFORE_STANDINGS);
  const stated = ["version", "flags", "count", "position", "stakes"].map((name) =>
    readField(head, part!, 0, name),
  );
  expect(stated).toEqual([1, 1, 1, 11, 9]);
  expect(part!.toString("utf8", sizeOf(head) + 12)).toBe("agent://a/b");
});

test("an assessment", () => {
  const layout = layoutUnder(page, "## Assessment");
  expect(sizeOf(layout)).toBe(ASSESSMENT_HEAD_BYTES);
  const bytes = encodeAssessment({
    agent: "agent://a/writer",
    tenant: "ten",
    keyId: "key-1",
    code: "HASH_MISMATCH",
    kindIndex: 1,
    digest: "5a".repeat(32),
    assessedAtMs: 77,
  });
  const read = (name: string) => readField(layout, bytes, 0, name);
  expect([read("version"), read("feature"), read("time")]).toEqual([1, 1, 77]);
  expect(read("asker")).toBe(createHash("sha256").update("ten").digest().readUInt32LE(0) % 2 ** 29);
  expect(read("SHA-256")).toBe("5a".repeat(32));
  const lengths = ["agent", "tenant", "API key's id", "code"].map((name) =>
    Number(read(`length of the ${name}`)),
  );
  expect(lengths).toEqual([16, 3, 5, 13]);
  expect(bytes.toString("utf8", ASSESSMENT_HEAD_BYTES)).toBe(
    "agent://a/writertenkey-1HASH_MISMATCH",
  );
});

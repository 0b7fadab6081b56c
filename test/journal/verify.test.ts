// Signatures checked again from the journal's bytes, and records that claim more than was signed.
import { generateKeyPairSync, sign } from "node:crypto";
import { expect, test } from "vitest";
import { computeKeyThumbprint } from "../../src/contract/public-key.ts";
import { diskFileLayer } from "../../src/platform/files.ts";
import { verifyJournal } from "../../src/journal/verify.ts";
import { openLocalLedger } from "../ledger/_local-ledger.ts";
import type { OutcomeRecord } from "../../src/journal/records.ts";
import { newKey, NOW_MS, openCore, recordOf, temporaryDirectory } from "../ledger/_fixtures.ts";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const x = publicKey.export({ format: "jwk" }).x!;
const kid = computeKeyThumbprint(x);
const REGISTERED = Buffer.from(JSON.stringify({ event: "registered", kid, x }));

function signed(index: number, body: Buffer) {
  const jti = `00000000-0000-7000-8000-${index.toString(16).padStart(12, "0")}`;
  const header = { alg: "Ed25519", kid, typ: "outcome+jws", b64: false, crit: ["b64"] };
  const claims = { ...header, iat: NOW_MS / 1000 - 0.678, jti, aud: "here" };
  const protectedText = Buffer.from(JSON.stringify(claims)).toString("base64url");
  const input = Buffer.concat([Buffer.from(`${protectedText}.`), body]);
  return { kid, jti, protectedText, signature: sign(null, input, privateKey) };
}

const memberOf = ({ subject, reporter, outcome, stakes }: OutcomeRecord) => ({
  subject,
  reporter,
  outcome,
  stakes,
  grade: "counterparty",
});

function ownRecord(index: number, changes: Partial<OutcomeRecord> = {}): OutcomeRecord {
  const plain = recordOf(index, { gradeIndex: 3, signature: "reporter" });
  const body = Buffer.from(JSON.stringify(memberOf(plain)));
  return { ...plain, body, proof: { kind: "own", ...signed(index, body) }, ...changes };
}

test("outcomes and batches verify; what was not signed so is named by position", async () => {
  const directory = temporaryDirectory();
  const { core } = openCore(directory, newKey());
  const ledger = openLocalLedger(core, () => NOW_MS);
  await ledger.appendKeyEvent(REGISTERED);
  await ledger.append(ownRecord(1));
  const rows = [2, 3, 4].map((index) => recordOf(index, { gradeIndex: 3, body: Buffer.alloc(0) }));
  const body = Buffer.from(JSON.stringify(rows.map(memberOf)));
  const batch = signed(9, body);
  const evidenceId = await ledger.appendEvidence({ ...batch, recordedAtMs: NOW_MS, body });
  const { jti } = batch;
  const inBatch = (row: OutcomeRecord, index: number): OutcomeRecord => {
    return { ...row, signature: "reporter", proof: { kind: "batch", kid, jti, evidenceId, index } };
  };
  await ledger.appendBatch(rows.map(inBatch));
  expect(verifyJournal(diskFileLayer, directory)).toMatchObject({
    records: 6,
    signatures: 2,
    forged: [],
    damage: undefined,
  });
  // As somebody with the bureau's key could write it: all frames and commits are sound.
  await ledger.append(ownRecord(20, { stakes: 1e6 }));
  await ledger.append(ownRecord(21, { body: Buffer.from("{}") }));
  await ledger.append(inBatch(recordOf(22, { gradeIndex: 3, body: Buffer.alloc(0) }), 1));
  await ledger.append(inBatch(recordOf(23, { gradeIndex: 3, body: Buffer.alloc(0) }), 7));
  await ledger.close();
  const report = verifyJournal(diskFileLayer, directory);
  expect(report.damage).toBeUndefined();
  expect(report.forged).toEqual([7, 8, 9, 10]);
});

// Parties to a transaction before a real service: a buyer that reports, a seller that attests, and their
// documents, sound or not.
import { CompactSign } from "jose";
import { expect } from "vitest";
import { resolveDataPaths } from "../../../src/journal/data-directory.ts";
import { FRAME_KINDS, readFrameKind } from "../../../src/journal/format.ts";
import { decodeOutcome } from "../../../src/journal/outcome.ts";
import { JournalReader } from "../../../src/journal/reader.ts";
import type { OutcomeRecord } from "../../../src/journal/records.ts";
import { EvidenceVerifier } from "../../../src/journal/verify-signatures.ts";
import { diskFileLayer } from "../../../src/platform/files.ts";
import { runOf } from "../../ledger/_fixtures.ts";
import {
  AGENT,
  joseSignature,
  newPair,
  NOW_MS,
  openService,
  type Pair,
  type Reply,
  SERVICE_ID,
  type SigningService,
  SUBJECT,
} from "../../http/_signing.ts";

export const SETTLED_MS = NOW_MS - 60_000;

export interface Parties {
  readonly service: SigningService;
  readonly key: string;
  readonly buyer: Pair;
  readonly seller: Pair;
}

/** A buyer that reports and a seller that attests, of two owners who are vouched for. */
export async function openParties(
  options: Parameters<typeof openService>[0] = {},
): Promise<Parties> {
  const service = await openService(options);
  for (const [namespace, tenant] of Object.entries({ shop: "buyers", market: "sellers" })) {
    await grant(service, namespace, { tenant, vouched: true });
  }
  const [buyer, seller] = [newPair(), newPair()];
  await service.register(buyer, AGENT);
  await service.register(seller, SUBJECT);
  const scopes = ["outcomes:write", "score:read"];
  const { json } = await service.call("POST", "/v1/keys", { tenant: "carrier", scopes });
  return { service, key: json.key, buyer, seller };
}

export async function grant(
  service: SigningService,
  namespace: string,
  body: object,
): Promise<void> {
  const { status } = await service.call("PUT", `/v1/namespaces/${namespace}`, body);
  expect(status).toBe(200);
}

export type Members = Record<string, unknown>;

export const transactionOf = (changes: Members = {}): Members => ({
  transaction_id: "deal-1",
  subject: SUBJECT,
  reporter: AGENT,
  outcome: 1,
  stakes: 9,
  settled_at: SETTLED_MS,
  ...changes,
});

/** Both members and header may be anything: what is wrong is for the service to find. */
export function attest(pair: Pair, transaction: Members = transactionOf(), header: Members = {}) {
  const iat = Math.floor(NOW_MS / 1000);
  const members = { alg: "Ed25519", kid: pair.kid, typ: "transaction+jws", iat, aud: SERVICE_ID };
  return new CompactSign(Buffer.from(JSON.stringify(transaction)))
    .setProtectedHeader({ ...members, ...header })
    .sign(pair.privateKey);
}

export function outcomeOf(attestation: unknown, changes: Members = {}): string {
  const { transaction_id: _, ...outcome } = transactionOf();
  const grade = "counterparty";
  return JSON.stringify({ ...outcome, grade, ...(attestation ? { attestation } : {}), ...changes });
}

export async function send(
  { service, key }: Pick<Parties, "service" | "key">,
  body: string,
  signature?: string,
  route = "/v1/outcomes",
): Promise<Reply> {
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    ...(signature === undefined ? {} : { "x-jws-signature": signature }),
  };
  const reply = await fetch(service.base + route, { method: "POST", headers, body });
  return { status: reply.status, headers: reply.headers, json: await reply.json() };
}

export const report = async (parties: Parties, body: string): Promise<Reply> =>
  send(parties, body, await joseSignature(parties.buyer, body));

export async function evidenceOf({ service }: Parties, subject = SUBJECT) {
  const { json } = await service.call("GET", `/v1/agents/${encodeURIComponent(subject)}`);
  return json.evidence as { outcomes: number; successes_90d: number };
}

/** Verifies what the journal holds, after `change` where it is given. */
export function verifyRecords(
  service: SigningService,
  change: (record: OutcomeRecord) => OutcomeRecord = (record) => record,
): EvidenceVerifier {
  const verifier = new EvidenceVerifier();
  const reader = new JournalReader(diskFileLayer, resolveDataPaths(service.dataDir).journal);
  reader.readRecords(0, service.ledger.position(), 1000, (bytes, at, lsn) => {
    if (readFrameKind(bytes, at) !== FRAME_KINDS.outcome) verifier.checkRecord(bytes, at, lsn);
    else verifier.checkRecord(runOf([change(decodeOutcome(bytes, at))]).bytes, 0, lsn);
  });
  reader.close();
  return verifier;
}

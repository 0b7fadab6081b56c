// Attestations that the subject's owner never made, or made of something else, as a reporter would send
// them to have its own word weigh more.
import { sign } from "node:crypto";
import type { SigningPair } from "./signatures.ts";

type Members = Record<string, unknown>;

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Header of an attestation that would be taken. */
function headerOf(kid: string, audience: string): Members {
  const iat = Math.floor(Date.now() / 1000);
  return { alg: "Ed25519", kid, typ: "transaction+jws", iat, aud: audience };
}

/** A compact JWS over a transaction, signed with a pair, whatever its header says. */
function sealed(pair: SigningPair, header: Members, transaction: Members): string {
  const input = `${encode(header)}.${encode(transaction)}`;
  return `${input}.${sign(null, Buffer.from(input), pair.privateKey).toString("base64url")}`;
}

/** The owner's own attestation. */
export function attestationOf(owner: SigningPair, audience: string, transaction: Members): string {
  return sealed(owner, headerOf(owner.kid, audience), transaction);
}

export interface AttestationForgers {
  /** Of the subject's owner; what it signed of other transactions is known to the attacker. */
  readonly owner: SigningPair;
  /** The reporter's own registered key, and one that nobody has registered. */
  readonly reporter: SigningPair;
  readonly unknown: SigningPair;
  readonly audience: string;
  readonly transaction: Members;
}

/** Attestations of the transaction, none of which the owner has made for it. */
export function* forgedAttestations(forgers: AttestationForgers): Generator<[string, string]> {
  const { owner, reporter, unknown, audience, transaction } = forgers;
  const good = headerOf(owner.kid, audience);
  yield ["the reporter's own", attestationOf(reporter, audience, transaction)];
  yield ["an unknown key's", attestationOf(unknown, audience, transaction)];
  yield ["the owner's kid, signed by the reporter", sealed(reporter, good, transaction)];
  const { subject, reporter: name } = transaction;
  const changes: Members[] = [
    { subject: name, reporter: subject },
    { reporter: `${String(name)}-2` },
    { outcome: 0 },
    { stakes: 1 },
    { settled_at: 1 },
    { more: 1 },
    { transaction_id: "" },
  ];
  for (const change of changes) {
    const other = attestationOf(owner, audience, { ...transaction, ...change });
    yield [`of ${JSON.stringify(change)}`, other];
    const [head = "", , signature = ""] = other.split(".");
    yield [`signature of ${JSON.stringify(change)}`, `${head}.${encode(transaction)}.${signature}`];
  }
  const seconds = Math.floor(Date.now() / 1000);
  const headers: Members[] = [
    { aud: "trustrank:other" },
    { typ: "outcome+jws" },
    { typ: "key-proof+jws" },
    { alg: "none" },
    { alg: "HS256" },
    { iat: 0 },
    { iat: seconds + 86_400 },
    { iat: seconds - 30 * 86_400 },
    { crit: ["b64"], b64: false },
    { jwk: { kty: "OKP", crv: "Ed25519", x: reporter.x } },
  ];
  // Some the owner would not sign; the reporter cannot sign them for it.
  for (const change of headers) {
    const header = { ...good, ...change };
    yield [`header ${JSON.stringify(change)}`, sealed(reporter, header, transaction)];
    yield [`owner's header ${JSON.stringify(change)}`, sealed(owner, header, transaction)];
  }
}

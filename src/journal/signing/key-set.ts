// File bureau-keys.json: the public keys that the bureau has signed with, each vouched for by the one
// before it (a compact JWS), and the key of the identifier hash, which must outlive the first of
// them. Absent until the first rotation. Evidence does not need it: every segment names its key.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { SigningKeySet } from "../../contract/schemas/signing-keys.ts";
import { FileUnusable } from "../faults.ts";
import { readErrno, type FileLayer, replaceFile } from "../../platform/files.ts";
import { type BureauKey, verifyWithRawKey } from "../signing-key.ts";

export const KEY_SET_FILE = "bureau-keys.json";
/** Version of the file that this release writes and reads. */
export const KEY_SET_FORMAT = 1;
/** Keys that are published, the newest of them. */
export const SIGNING_KEYS_MAX = 256;
/** `typ` of a key's voucher: no other signature of the bureau can pass for one. */
const VOUCHER_TYPE = "bureau-key+jws";
const RAW_KEY = /^[A-Za-z0-9_-]{43}$/;

/** A key that came by rotation. */
export interface KeyLink {
  /** Raw public key, base64url. */
  readonly x: string;
  /** Since when it signs, epoch ms. */
  readonly fromMs: number;
  /** Compact JWS of `{jwk, iat}` by the key before it; empty when that key was lost. */
  readonly vouchedBy: string;
}

export interface BureauKeySet {
  /** The first key, raw, base64url. */
  readonly first: string;
  /** Those after it, in order; the last may be one that never came into use. */
  readonly links: readonly KeyLink[];
  /** Key of the identifier hash. */
  readonly tableSeed: bigint;
}

export const encodePublicKey = (publicKey: Uint8Array) =>
  Buffer.from(publicKey).toString("base64url");

/** RFC 7638: required members in lexical order. */
export function computeThumbprint(x: string): string {
  const members = JSON.stringify({ crv: "Ed25519", kty: "OKP", x });
  return createHash("sha256").update(members).digest("base64url");
}

/**
 * The set as it is in force under `current`: without a key that was prepared and never used.
 * Undefined when no key was ever rotated.
 * @throws FileUnusable when the file is no key set.
 */
export function readKeySet(root: string, current: Uint8Array): BureauKeySet | undefined {
  const path = join(root, KEY_SET_FILE);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (readErrno(error) === "ENOENT") return undefined;
    throw error;
  }
  const set = parseKeySet(text);
  if (set === undefined) {
    const reason = "it is no list of the bureau's keys";
    throw new FileUnusable({ path, reason, advice: "put it back from a backup" });
  }
  const x = encodePublicKey(current);
  const at = set.links.findLastIndex((link) => link.x === x);
  // Beyond the one in use nothing has been signed; a key that is not there came by a repair.
  return at < 0 && set.first !== x ? set : { ...set, links: set.links.slice(0, at + 1) };
}

export function writeKeySet(files: FileLayer, root: string, set: BureauKeySet): void {
  const document = {
    format: KEY_SET_FORMAT,
    table_seed: set.tableSeed.toString(16).padStart(16, "0"),
    first: set.first,
    links: set.links.map((link) => ({
      x: link.x,
      from_ms: link.fromMs,
      vouched_by: link.vouchedBy,
    })),
  };
  replaceFile(files, root, KEY_SET_FILE, Buffer.from(`${JSON.stringify(document, null, 2)}\n`));
}

/** A voucher of `former` for the key that follows it. */
export function createKeyLink(next: Uint8Array, former: BureauKey, nowMs: number): KeyLink {
  const x = encodePublicKey(next);
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const kid = computeThumbprint(encodePublicKey(former.publicKey));
  const jwk = { kty: "OKP", crv: "Ed25519", x, kid: computeThumbprint(x) };
  const header = part({ alg: "EdDSA", kid, typ: VOUCHER_TYPE });
  const input = `${header}.${part({ jwk, iat: Math.floor(nowMs / 1000) })}`;
  const signature = former.sign(Buffer.from(input)).toString("base64url");
  return { x, fromMs: nowMs, vouchedBy: `${input}.${signature}` };
}

/** Whether the key `former` (raw, base64url) vouches for the key of `link`. */
export function isVouchedFor(link: KeyLink, former: string): boolean {
  const [header = "", payload = "", signature = "", ...rest] = link.vouchedBy.split(".");
  if (rest.length > 0) return false;
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as never;
  try {
    const { typ, kid } = read(header) as { typ: unknown; kid: unknown };
    const { jwk } = read(payload) as { jwk: { x: unknown } };
    if (typ !== VOUCHER_TYPE || kid !== computeThumbprint(former) || jwk.x !== link.x) return false;
  } catch {
    return false;
  }
  const raw = Buffer.from(former, "base64url");
  const input = Buffer.from(`${header}.${payload}`);
  return verifyWithRawKey(raw, input, Buffer.from(signature, "base64url"));
}

/** The set as it is published: the newest first, those that have ended for ever. */
export function buildPublishedKeySet(
  set: BureauKeySet | undefined,
  current: string,
): SigningKeySet {
  const first = { x: set?.first ?? current, fromMs: null, vouchedBy: null };
  const known: { x: string; fromMs: number | null; vouchedBy: string | null }[] = [first];
  known.push(...(set?.links ?? []));
  // A key that a repair has made: nobody vouches for it.
  if (known.at(-1)!.x !== current) known.push({ x: current, fromMs: null, vouchedBy: null });
  const time = (ms: number | null | undefined) => (ms == null ? null : new Date(ms).toISOString());
  const keys = known.map(({ x, fromMs, vouchedBy }, index) => ({
    kty: "OKP" as const,
    crv: "Ed25519" as const,
    x,
    kid: computeThumbprint(x),
    alg: "EdDSA" as const,
    use: "sig" as const,
    valid_from: time(fromMs),
    valid_until: time(known[index + 1]?.fromMs),
    vouched_by: vouchedBy === "" ? null : vouchedBy,
  }));
  return { keys: keys.toReversed().slice(0, SIGNING_KEYS_MAX) };
}

function parseKeySet(text: string): BureauKeySet | undefined {
  let document: Record<string, unknown>;
  try {
    document = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { format, table_seed: seed, first, links } = document ?? {};
  if (format !== KEY_SET_FORMAT || typeof first !== "string" || !RAW_KEY.test(first)) {
    return undefined;
  }
  if (typeof seed !== "string" || !/^[0-9a-f]{16}$/.test(seed) || !Array.isArray(links)) {
    return undefined;
  }
  const read = (links as unknown[]).map(parseKeyLink);
  if (read.includes(undefined)) return undefined;
  return { first, links: read as KeyLink[], tableSeed: BigInt(`0x${seed}`) };
}

function parseKeyLink(value: unknown): KeyLink | undefined {
  const { x, from_ms: fromMs, vouched_by: vouchedBy } = (value ?? {}) as Record<string, unknown>;
  const isLink =
    typeof x === "string" &&
    RAW_KEY.test(x) &&
    typeof fromMs === "number" &&
    typeof vouchedBy === "string";
  return isLink ? { x, fromMs, vouchedBy } : undefined;
}

// Check of an inclusion proof in the reader's own browser, by SHA-256 and Ed25519 of WebCrypto: the service
// that made the proof has no part in it. Every step is kept, to be shown.
import type { EvidenceProof } from "../../../contract/schemas/sources.ts";

export type InclusionProof = EvidenceProof["merkle"];

export interface ProofStep {
  /** What is hashed, in words. */
  readonly what: string;
  /** The neighbour that the path gives; none for the leaf. */
  readonly sibling?: string;
  /** The hash that comes of it, 64 hex digits. */
  readonly found: string;
}

export interface ProofCheck {
  readonly steps: readonly ProofStep[];
  /** Whether the hash of the text is the leaf that the proof names. */
  readonly isLeaf: boolean;
  /** Whether the path ends in the root. */
  readonly isRoot: boolean;
}

/** Hashes the leaf's text up the path as RFC 6962 says, for the record at `index`. */
export async function checkInclusionProof(
  proof: InclusionProof,
  index: number,
): Promise<ProofCheck> {
  let found = await sha256([0], new TextEncoder().encode(proof.leaf_text));
  const steps: ProofStep[] = [{ what: "leaf: byte 0, then the text", found: hex(found) }];
  const isLeaf = formatSha256Name(found) === proof.leaf;
  let [at, last] = [index, proof.tree_size - 1];
  let isTooLong = at > last;
  for (const sibling of proof.path) {
    isTooLong ||= last === 0;
    const isRight = at % 2 === 1 || at === last;
    const other = decodeSha256Name(sibling);
    found = await (isRight ? sha256([1], other, found) : sha256([1], found, other));
    const what = isRight ? "byte 1, neighbour, hash above" : "byte 1, hash above, neighbour";
    steps.push({ what, sibling: hex(other), found: hex(found) });
    while (isRight && at % 2 === 0 && at !== 0) [at, last] = halveBoth(at, last);
    [at, last] = halveBoth(at, last);
  }
  const isRoot = !isTooLong && last === 0 && formatSha256Name(found) === proof.root;
  return { steps, isLeaf, isRoot };
}

/** Whether the bureau's key signed this root at this size; undefined where the browser cannot tell. */
export async function isRootSigned(
  proof: InclusionProof,
  jwk: JsonWebKey,
): Promise<boolean | undefined> {
  const [head = "", body = "", signature = ""] = proof.jws.split(".");
  try {
    const algorithm = { name: "Ed25519" };
    const { kty, crv, x } = jwk as { kty: string; crv: string; x: string };
    const key = await crypto.subtle.importKey("jwk", { kty, crv, x }, algorithm, false, ["verify"]);
    const signed = new TextEncoder().encode(`${head}.${body}`);
    const isGood = await crypto.subtle.verify(algorithm, key, decodeBase64Url(signature), signed);
    const { root, tree_size: size } = JSON.parse(
      new TextDecoder().decode(decodeBase64Url(body)),
    ) as InclusionProof;
    return isGood && root === proof.root && size === proof.tree_size;
  } catch (error) {
    if (error instanceof DOMException && error.name === "NotSupportedError") return undefined;
    return false;
  }
}

/** What the text of a leaf says, by the names of the record's members. */
export function parseLeafText(text: string): Readonly<Record<string, unknown>> {
  const names =
    "source_id,sha256,size,kind,title,tenant,visibility,state,registered_at,registrar,prev_hash".split(
      ",",
    );
  try {
    const values = JSON.parse(text) as unknown[];
    return Object.fromEntries(names.map((name, at) => [name, values[at]]));
  } catch {
    return {};
  }
}

const halveBoth = (at: number, last: number): [number, number] => [
  Math.floor(at / 2),
  Math.floor(last / 2),
];

async function sha256(
  ...parts: readonly (Uint8Array | readonly number[])[]
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Uint8Array.from(parts.flatMap((part) => [...part]));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

function decodeSha256Name(name: string): Uint8Array {
  const digits = name.replace("sha256:", "").match(/../g) ?? [];
  return Uint8Array.from(digits, (pair) => Number.parseInt(pair, 16));
}

const hex = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const formatSha256Name = (bytes: Uint8Array) => `sha256:${hex(bytes)}`;

function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

// The bureau's own Ed25519 key: it signs every commit of the journal. Created on the first start,
// private to the owner, and never replaced silently (signing/rotation.ts): evidence signed before must
// stay verifiable.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import * as fs from "node:fs";
import { dirname } from "node:path";
import { FileUnusable } from "./faults.ts";
import {
  type FileLayer,
  diskFileLayer,
  removeIfPresent,
  writeFully,
  writeNewFile,
} from "../platform/files.ts";

export interface BureauKey {
  /** Raw 32 bytes, as in segment headers. */
  readonly publicKey: Buffer;
  /** Ed25519 over `message`, 64 bytes. */
  sign(message: Uint8Array): Buffer;
}

/** DER prefix of an Ed25519 SubjectPublicKeyInfo (RFC 8410); the raw key follows. */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex");

/**
 * Loads the key, or creates it when the file does not exist (mode 0600, synced with its directory).
 * @param mayCreate false where there is evidence already: its key cannot just be another one.
 * @throws the file system's error (ENOENT when it may not create); an Error when the file is not an
 *   Ed25519 private key.
 */
export function loadBureauKey(path: string, mayCreate = true): BureauKey {
  const existing = readPemIfPresent(path, mayCreate);
  if (existing !== undefined) return parseBureauKey(path, existing);
  const made = prepareBureauKey(diskFileLayer, path);
  made.install();
  return made.key;
}

/** A secret for one purpose that whoever has the key can make again: no signature over it is published. */
export function deriveSecret(path: string, purpose: string): Buffer {
  const signature = loadBureauKey(path, false).sign(Buffer.from(`trustrank secret: ${purpose}`));
  return hash("sha256", signature, "buffer");
}

/** The secret from which the seals of a cluster's log are derived. */
export function deriveLogSecret(path: string): Uint8Array {
  return Uint8Array.from(deriveSecret(path, "cluster log"));
}

/** A key whose file lies beside the one in use until `install` puts it in its place. */
export interface PreparedKey {
  readonly key: BureauKey;
  /** Durable when it returns. */
  install(): void;
}

/** Makes another key, its file durable under another name and private to the owner (0600). */
export function prepareBureauKey(files: FileLayer, path: string): PreparedKey {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  const temporary = `${path}.tmp`;
  removeIfPresent(files, temporary);
  writeNewFile(files, temporary, (descriptor) =>
    writeFully(files, descriptor, [Buffer.from(pem)], 0),
  );
  const install = () => {
    files.rename(temporary, path);
    files.syncDirectory(dirname(path));
  };
  return { key: buildBureauKey(privateKey), install };
}

/** @throws FileUnusable */
function parseBureauKey(path: string, pem: string): BureauKey {
  try {
    return buildBureauKey(createPrivateKey(pem));
  } catch {
    const reason = "it holds no Ed25519 private key in PEM";
    throw new FileUnusable({ path, reason, advice: "put it back from a backup" });
  }
}

function readPemIfPresent(path: string, mayBeAbsent: boolean): string | undefined {
  try {
    return fs.readFileSync(path, "utf8");
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (isAbsent && mayBeAbsent) return undefined;
    throw error;
  }
}

/** A bureau key over an Ed25519 private key. */
export function buildBureauKey(privateKey: KeyObject): BureauKey {
  if (privateKey.asymmetricKeyType !== "ed25519") {
    throw new Error("the bureau key is not an Ed25519 key");
  }
  const spki = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  return {
    publicKey: spki.subarray(SPKI_PREFIX.byteLength),
    sign: (message) => sign(null, message, privateKey),
  };
}

/** Verifies a signature under a raw public key. False for malformed input. */
export function verifyWithRawKey(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  try {
    const key = createPublicKey({
      key: Buffer.concat([SPKI_PREFIX, publicKey]),
      format: "der",
      type: "spki",
    });
    return verify(null, message, key, signature);
  } catch {
    return false;
  }
}

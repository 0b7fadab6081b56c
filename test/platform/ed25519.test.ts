// Both verifiers on the same questions: what one takes for evidence the other must take too, or a
// machine without libsodium's binary would keep another history than one with it.
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Ed25519Verifier,
  openEd25519,
  openOpenssl,
  openSodium,
} from "../../src/platform/ed25519.ts";

const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_PREFIX_BYTES = 12;
/** Order of the base point (RFC 8032 §5.1), to make an S that means the same and is not reduced. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** RFC 8032 §7.1, TEST 3. */
const KNOWN = {
  key: Buffer.from("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "hex"),
  message: Buffer.from("af82", "hex"),
  signature: Buffer.from(
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac" +
      "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    "hex",
  ),
};

const verifiers: [string, Ed25519Verifier | undefined][] = [
  ["libsodium", openSodium()],
  ["OpenSSL", openOpenssl()],
  ["the one the service takes", openEd25519()],
];

function signed(seed: Uint8Array, message: Uint8Array) {
  const der = Buffer.concat([PKCS8_PREFIX, seed]);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const spki = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  return { key: spki.subarray(SPKI_PREFIX_BYTES), signature: sign(null, message, privateKey) };
}

function littleEndian(value: bigint): Buffer {
  return Buffer.from(Buffer.from(value.toString(16).padStart(64, "0"), "hex").toReversed());
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes.toReversed()).toString("hex")}`);
}

test("libsodium's binary runs here", () => expect(openSodium()).toBeDefined());

describe.each(verifiers)("%s", (_, isValid) => {
  const { key, message, signature } = KNOWN;

  test("the RFC's own signature, and a bit of each part flipped", () => {
    expect(isValid!(key, signature, message)).toBe(true);
    for (const part of [key, signature, message])
      for (let at = 0; at < part.length; at += 1) {
        part[at]! ^= 4;
        expect(isValid!(key, signature, message)).toBe(false);
        part[at]! ^= 4;
      }
  });

  test("the same signature with its S not reduced", () => {
    const large = littleEndian(numberOf(signature.subarray(32)) + ORDER);
    expect(isValid!(key, Buffer.concat([signature.subarray(0, 32), large]), message)).toBe(false);
  });

  test.each([
    ["a key too short", key.subarray(1), signature],
    ["a key too long", Buffer.concat([key, Buffer.alloc(1)]), signature],
    ["a signature too short", key, signature.subarray(1)],
    ["a signature with a byte more", key, Buffer.concat([signature, Buffer.alloc(1)])],
    ["nothing", Buffer.alloc(0), Buffer.alloc(0)],
  ])("%s", (_name, asKey, asSignature) => {
    expect(isValid!(asKey, asSignature, message)).toBe(false);
  });

  test("an empty message", () => {
    const empty = new Uint8Array(0);
    const made = signed(Buffer.alloc(32, 7), empty);
    expect(isValid!(made.key, made.signature, empty)).toBe(true);
  });
});

test("one answer from both, whatever was damaged", () => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  const damage = fc.record({
    part: fc.constantFrom(
      "none" as const,
      "key" as const,
      "signature" as const,
      "message" as const,
    ),
    at: fc.nat(),
    mask: fc.integer({ min: 1, max: 255 }),
  });
  const [sodium, openssl] = [openSodium()!, openOpenssl()];
  fc.assert(
    fc.property(bytes(32), fc.uint8Array({ maxLength: 300 }), damage, (seed, message, harm) => {
      const parts = { ...signed(seed, message), message: Buffer.from(message) };
      const part = harm.part === "none" ? undefined : parts[harm.part];
      if (part !== undefined && part.length > 0) part[harm.at % part.length]! ^= harm.mask;
      const answer = sodium(parts.key, parts.signature, parts.message);
      expect(openssl(parts.key, parts.signature, parts.message)).toBe(answer);
      expect(answer).toBe(part === undefined || part.length === 0);
    }),
    { numRuns: 300 },
  );
});

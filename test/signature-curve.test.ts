// The tables must answer as OpenSSL does, on sound signatures, damaged ones, and those that were
// made to tell implementations apart.
import { createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BatchVerifier } from "../src/signature-batch.ts";
import { Curve, type SignedMessage } from "../src/signature-curve.ts";

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const PRIME = 2n ** 255n - 19n;
const SPKI = Buffer.from("302a300506032b6570032100", "hex");

function bytesOf(value: bigint): Buffer {
  return Buffer.from(Buffer.from(value.toString(16).padStart(64, "0"), "hex").toReversed());
}

function numberOf(bytes: Buffer): bigint {
  return BigInt(`0x${Buffer.from(bytes.toReversed()).toString("hex")}`);
}

function openssl({ key, message, signature }: SignedMessage): boolean {
  const object = createPublicKey({
    key: Buffer.concat([SPKI, key]),
    format: "der",
    type: "spki",
  });
  return verify(null, message, object, signature);
}

function newSigner() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = publicKey.export({ type: "spki", format: "der" }).subarray(SPKI.length);
  return { privateKey, key, name: key.toString("latin1") };
}

function signedBy({ privateKey, key }: ReturnType<typeof newSigner>, message: Buffer) {
  return { key, message, signature: sign(null, message, privateKey) };
}

/** The eight points of small order and other spellings of them, with either sign. */
const SMALL = [
  0n,
  1n,
  PRIME - 1n,
  PRIME,
  PRIME + 1n,
  numberOf(Buffer.from("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "hex")),
  numberOf(Buffer.from("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "hex")),
].flatMap((y) => [bytesOf(y), bytesOf(y + 2n ** 255n)]);

describe("the tables", () => {
  const curve = new Curve(4);

  it("agree with OpenSSL on sound and damaged signatures", () => {
    const signers = [newSigner(), newSigner(), newSigner()];
    for (const { name } of signers) expect(curve.learn(name)).toBe(true);
    const edit = fc.record({
      who: fc.nat(2),
      at: fc.nat(95),
      bit: fc.nat(7),
      isSound: fc.boolean(),
    });
    const batch = fc.array(edit, { minLength: 100, maxLength: 300 });
    let valid = 0;
    fc.assert(
      fc.property(batch, (edits) => {
        const signed = edits.map(({ who, at, bit, isSound }) => {
          const each = signedBy(signers[who]!, randomBytes(32));
          const all = Buffer.concat([each.signature, each.message]);
          if (!isSound) all[at]! ^= 1 << bit;
          return { key: each.key, signature: all.subarray(0, 64), message: all.subarray(64) };
        });
        const names = edits.map(({ who }) => signers[who]!.name);
        const answers = curve.verify(signed, names);
        expect(answers).toEqual(signed.map(openssl));
        valid += answers.filter(Boolean).length;
      }),
      { numRuns: 12 },
    );
    expect(valid).toBeGreaterThan(100);
  });

  it("agree on scalars and points at every edge", () => {
    const signer = newSigner();
    curve.learn(signer.name);
    const { key, message, signature } = signedBy(signer, Buffer.from("edge"));
    const s = numberOf(signature.subarray(32));
    const r = signature.subarray(0, 32);
    const scalars = [s, s + ORDER, 0n, 1n, ORDER - 1n, ORDER, ORDER + 1n, 2n ** 252n];
    const more = [2n ** 253n - 1n, 2n ** 253n, 2n ** 255n - 1n, 2n ** 256n - 1n, s + 2n ** 253n];
    const points = [r, ...SMALL, bytesOf(2n ** 256n - 1n), bytesOf(PRIME + 5n)];
    const signed = [...scalars, ...more].flatMap((scalar) =>
      points.map((point) => {
        const wrapped = bytesOf(scalar % 2n ** 256n);
        return { key, message, signature: Buffer.concat([point, wrapped]) };
      }),
    );
    const names = signed.map(() => signer.name);
    expect(curve.verify(signed, names)).toEqual(signed.map(openssl));
  });

  it("agree on keys of small order, which nobody can register", () => {
    let learned = 0;
    for (const key of SMALL) {
      const name = key.toString("latin1");
      if (!curve.learn(name)) continue;
      learned += 1;
      const signed = SMALL.flatMap((point) =>
        [0n, 1n, 8n].map((scalar) => ({
          key,
          message: Buffer.from("small"),
          signature: Buffer.concat([point, bytesOf(scalar)]),
        })),
      );
      const names = signed.map(() => name);
      expect(curve.verify(signed, names)).toEqual(signed.map(openssl));
    }
    expect(learned).toBeGreaterThan(4);
  });

  it("are not made for bytes that are no point", () => {
    const learned = Array.from({ length: 40 }, () =>
      curve.learn(randomBytes(32).toString("latin1")),
    );
    expect(learned).toContain(false);
    expect(learned).toContain(true);
  });
});

describe("the verifier of a thread", () => {
  it("answers each for itself, with a table for the key or without, malformed too", async () => {
    // Three signers take two tables from each other.
    const verifier = new BatchVerifier(2);
    const signers = Array.from({ length: 3 }, newSigner);
    for (let round = 0; round < 200; round++) {
      const signed = signers.map((signer, index) => {
        const each = signedBy(signer, Buffer.from(`${round}`));
        return index === round % 3 ? { ...each, message: Buffer.from("another") } : each;
      });
      const none = { ...signed[0]!, key: Buffer.alloc(32, 0xff) };
      const answers = await Promise.all(
        [...signed, none].map(({ key, signature, message }) =>
          verifier.verifyLater(key, signature, message),
        ),
      );
      expect(answers).toEqual([...signers.map((_, index) => index !== round % 3), false]);
    }
  });
});

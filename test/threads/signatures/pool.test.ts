// Signatures on real pool threads: each caller gets the answer to its own question, however the
// questions are shared out.
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { SignaturePool } from "../../../src/threads/signatures/pool.ts";

const SPKI_PREFIX_BYTES = 12;

function newSigner() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const key = publicKey.export({ type: "spki", format: "der" }).subarray(SPKI_PREFIX_BYTES);
  return { privateKey, key };
}

const pool = new SignaturePool([], 3);
afterAll(() => pool.close());

/** How many are answered wrongly. Every third is damaged: message, signature or key. */
async function wrongOf(count: number): Promise<number> {
  const signers = [newSigner(), newSigner()];
  const asked = Array.from({ length: count }, (_, index) => {
    const { privateKey, key } = signers[index % 2]!;
    const message = randomBytes(1 + (index % 300));
    const signature = sign(null, message, privateKey);
    if (index % 9 === 0) message[0]! ^= 1;
    if (index % 9 === 3) signature[index % 64]! ^= 1;
    const asking = index % 9 === 6 ? signers[(index + 1) % 2]!.key : key;
    return pool.verify(asking, signature, message);
  });
  const answers = await Promise.all(asked);
  return answers.filter((isValid, index) => isValid !== (index % 3 !== 0)).length;
}

test.each([1, 7, 8, 65, 700])("%i at once", async (count) => {
  expect(await wrongOf(count)).toBe(0);
});

test("what comes in while others are under way", async () => {
  const later = new Promise(setImmediate).then(() => wrongOf(300));
  expect(await Promise.all([wrongOf(100), later, wrongOf(5)])).toEqual([0, 0, 0]);
});

test("bytes that are no key or no signature are not valid, and harm no neighbour", async () => {
  const { privateKey, key } = newSigner();
  const message = Buffer.from("message");
  const signature = sign(null, message, privateKey);
  const answers = [
    pool.verify(key, signature, message),
    pool.verify(Buffer.alloc(32, 0xff), signature, message),
    pool.verify(key, Buffer.alloc(64), message),
    pool.verify(key, signature, Buffer.alloc(0)),
    pool.verify(key, signature, message),
  ];
  expect(await Promise.all(answers)).toEqual([true, false, false, false, true]);
});

// bench:ed25519: microseconds for one verification of a reporter's signature by libsodium and by
// OpenSSL, by turns in one thread. One JSON object on the last line of stdout; `--smoke` runs it
// tiny.
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { cpus } from "node:os";
import { parsed } from "./load/parsed.ts";
import { type Ed25519Verifier, openOpenssl, openSodium } from "../src/platform/ed25519.ts";

const MESSAGES = 500;
/** About as long as the header and body of a signed outcome. */
const MESSAGE_BYTES = 400;
const SPKI_PREFIX_BYTES = 12;
const NS_PER_US = 1000;
const ROUNDS = 10;

const { values } = parsed(import.meta.filename, {
  options: { smoke: { type: "boolean", default: false } },
});
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const key = publicKey.export({ type: "spki", format: "der" }).subarray(SPKI_PREFIX_BYTES);
const signed = Array.from({ length: MESSAGES }, () => {
  const message = randomBytes(MESSAGE_BYTES);
  return { message, signature: sign(null, message, privateKey) };
});

function verifyAll(isValid: Ed25519Verifier): number {
  let count = 0;
  const startedAt = process.hrtime.bigint();
  for (const { message, signature } of signed) count += Number(isValid(key, signature, message));
  const took = Number(process.hrtime.bigint() - startedAt);
  if (count !== MESSAGES) throw new Error(`${count} of ${MESSAGES} signatures are valid`);
  return took / MESSAGES / NS_PER_US;
}

function median(all: readonly number[]): number {
  return Number(all.toSorted((a, b) => a - b)[all.length >> 1]!.toFixed(1));
}

const sodium = openSodium();
const openssl = openOpenssl();
const times: { sodium: number[]; openssl: number[] } = { sodium: [], openssl: [] };
for (let round = 0; round <= (values.smoke ? 1 : ROUNDS); round += 1) {
  const [ours, theirs] = [sodium && verifyAll(sodium), verifyAll(openssl)];
  // The first round warms both up.
  if (round === 0) continue;
  if (ours !== undefined) times.sodium.push(ours);
  times.openssl.push(theirs);
}
const report = {
  libsodium_us: times.sodium.length === 0 ? null : median(times.sodium),
  openssl_us: median(times.openssl),
  machine: `${cpus().length} x ${cpus()[0]?.model}, node ${process.version}`,
};
process.stdout.write(`${JSON.stringify(report)}\n`);

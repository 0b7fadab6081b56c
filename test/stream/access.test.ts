// Ways into servers that ask who is there: credentials, certificates, and what is said when they do not fit.
import { execFileSync } from "node:child_process";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClusterRefused } from "../../src/stream/ordered-log.ts";
import { messageOf } from "./_messages.ts";
import { startServers } from "./_nats.ts";
import { needs } from "../_needs.ts";

const PREFIX_SEED = 18 << 3;
const PREFIX_USER = 20 << 3;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return bits
    .match(/.{1,5}/g)!
    .map((five) => ALPHABET[Number.parseInt(five.padEnd(5, "0"), 2)])
    .join("");
}

/** CRC-16 of XMODEM, lowest byte first, as keys of NATS end. */
function sealed(bytes: Buffer): string {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return base32(Buffer.concat([bytes, Buffer.from([crc & 255, crc >> 8])]));
}

/** A user's key, and the file of credentials that holds its seed. */
function newUser() {
  const { privateKey } = generateKeyPairSync("ed25519");
  const { d, x } = createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" })).export({
    format: "jwk",
  });
  const seed = [PREFIX_SEED | (PREFIX_USER >> 5), (PREFIX_USER & 31) << 3];
  const secret = sealed(Buffer.from([...seed, ...Buffer.from(d!, "base64url")]));
  const part = (title: string, text: string) =>
    `-----BEGIN ${title}-----\n${text}\n------END ${title}------\n`;
  return {
    publicKey: sealed(Buffer.from([PREFIX_USER, ...Buffer.from(x!, "base64url")])),
    file: part("NATS USER JWT", "unused.where.keys-are-listed") + part("USER NKEY SEED", secret),
  };
}

describe("access", needs("nats-server"), () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "trustrank-access-"));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const at = (name: string) => join(directory, name);

  test("by credentials", async () => {
    const [user, stranger] = [newUser(), newUser()];
    writeFileSync(at("user.creds"), user.file);
    writeFileSync(at("stranger.creds"), stranger.file);
    writeFileSync(at("empty.creds"), "");
    const more = `authorization { users: [{ nkey: ${user.publicKey} }] }`;
    const servers = await startServers({ more });
    try {
      const log = await servers.open({ credentialsFile: at("user.creds") });
      expect(await log.append(messageOf(1), 10_000)).toBe(1);
      const refused = async (credentialsFile: string | undefined) => {
        const error: unknown = await servers
          .open({ credentialsFile })
          .catch((cause: unknown) => cause);
        expect(error).toBeInstanceOf(ClusterRefused);
        return (error as Error).message;
      };
      expect(await refused(undefined)).toMatch(/ask for credentials: .*TRUSTRANK_CLUSTER_CREDS/);
      expect(await refused(at("stranger.creds"))).toMatch(/refuse the credentials of `.*stranger/);
      expect(await refused(at("empty.creds"))).toMatch(/refuse the credentials .*unable to parse/);
    } finally {
      await servers.stop();
    }
  });

  test("by certificates", async () => {
    const openssl = (...parts: string[]) =>
      execFileSync("openssl", parts, { cwd: directory, stdio: "ignore" });
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const signedBy = (ca: string, name: string, ...more: string[]) =>
      openssl(
        "req",
        "-x509",
        ...curve,
        "-days",
        "2",
        "-subj",
        `/CN=${name}`,
        "-keyout",
        `${name}.key`,
        "-out",
        `${name}.pem`,
        "-CA",
        `${ca}.pem`,
        "-CAkey",
        `${ca}.key`,
        "-addext",
        "basicConstraints=CA:FALSE",
        ...more,
      );
    for (const ca of ["ca", "other"]) {
      openssl(
        "req",
        "-x509",
        ...curve,
        "-days",
        "2",
        "-subj",
        `/CN=${ca}`,
        "-keyout",
        `${ca}.key`,
        "-out",
        `${ca}.pem`,
      );
    }
    signedBy("ca", "server", "-addext", "subjectAltName=DNS:localhost");
    signedBy("ca", "node");
    signedBy("other", "foreign");
    const file = (name: string) => JSON.stringify(at(name));
    const more = `tls { cert_file: ${file("server.pem")}, key_file: ${file("server.key")}, ca_file: ${file("ca.pem")}, verify: true }`;
    const servers = await startServers({ more });
    try {
      const tls = { caFile: at("ca.pem"), certFile: at("node.pem"), keyFile: at("node.key") };
      // A client that is given an address has no name to check the certificate by.
      const named = servers.addresses.map((each) => each.replace("127.0.0.1", "localhost"));
      const log = await servers.open({ tls, servers: named });
      expect(await log.append(messageOf(1), 10_000)).toBe(1);
      const stranger = servers.open({ servers: named, tls: { ...tls, caFile: at("other.pem") } });
      await expect(stranger).rejects.toThrow(/is not trusted .*TRUSTRANK_CLUSTER_CA/);
      const missing = servers.open({ servers: named, tls: { ...tls, caFile: at("nowhere.pem") } });
      await expect(missing).rejects.toThrow(ClusterRefused);
      const nameless = servers.open({ servers: named, tls: { caFile: at("ca.pem") } });
      await expect(nameless).rejects.toThrow(
        /ask for a certificate of this node .*TRUSTRANK_CLUSTER_CERT.*TRUSTRANK_CLUSTER_KEY/,
      );
      const foreign = { ...tls, certFile: at("foreign.pem"), keyFile: at("foreign.key") };
      const unknown = servers.open({ servers: named, tls: foreign });
      await expect(unknown).rejects.toThrow(
        /the certificate `.*foreign\.pem` .* is refused .*_CERT/,
      );
      const mixed = servers.open({ servers: named, tls: { ...tls, keyFile: at("foreign.key") } });
      await expect(mixed).rejects.toThrow(/the certificate `.*node\.pem` .* is refused .*_KEY/);
    } finally {
      await servers.stop();
    }
  });
});

// A reporter with a registered Ed25519 key, for the benches: registers it with proof of possession,
// signs bodies as a client does, but at once and in this thread.
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

export interface Reporter {
  /** The value of `X-JWS-Signature` for this body. */
  sign(body: string): string;
}

/** What became of a registration: 200, or the status of the step that was refused. */
export interface Registration extends Reporter {
  readonly status: number;
  readonly kid: string;
}

/** Registers a new key for `agent`; undefined when the service has no reporter keys. */
export async function registerReporter(
  url: string,
  adminKey: string,
  agent: string,
): Promise<Reporter | undefined> {
  const made = await registerReporterAs(url, adminKey, agent);
  if (made.status === 404) return undefined;
  if (made.status !== 200) throw new Error(`the key was not registered: ${made.status}`);
  return made;
}

/** The same as the holder of any API key, who may be refused. */
export async function registerReporterAs(
  url: string,
  apiKey: string,
  agent: string,
): Promise<Registration> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const { x } = publicKey.export({ format: "jwk" });
  const canonical = `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`;
  const kid = createHash("sha256").update(canonical).digest("base64url");
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const seal = (input: string) => sign(null, Buffer.from(input), privateKey).toString("base64url");
  const keys = `${url}/v1/agents/${encodeURIComponent(agent)}/keys`;
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const asked = await fetch(`${keys}/nonce`, { method: "POST", headers });
  const { nonce = "", audience = "" } = (await asked.json()) as Record<string, string>;
  const register = async (): Promise<number> => {
    const header = encode({ alg: "Ed25519", kid, typ: "key-proof+jws", aud: audience });
    const input = `${header}.${Buffer.from(nonce).toString("base64url")}`;
    const jwk = { kty: "OKP", crv: "Ed25519", x };
    const body = JSON.stringify({ jwk, proof: `${input}.${seal(input)}` });
    return (await fetch(keys, { method: "PUT", headers, body })).status;
  };
  return {
    status: asked.ok ? await register() : asked.status,
    kid,
    sign(text) {
      const nowMs = Date.now();
      const members = { kid, typ: "outcome+jws", b64: false, crit: ["b64"], aud: audience };
      const iat = Math.floor(nowMs / 1000);
      const protectedText = encode({ alg: "Ed25519", ...members, iat, jti: uuidV7(nowMs) });
      return `${protectedText}..${seal(`${protectedText}.${text}`)}`;
    },
  };
}

function uuidV7(nowMs: number): string {
  const hex = nowMs.toString(16).padStart(12, "0") + randomBytes(10).toString("hex");
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `7${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ];
  return `${parts.join("-")}-${hex.slice(20, 32)}`;
}

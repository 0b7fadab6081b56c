// Signatures that are not what they claim, and public keys that make a signature prove nothing: header
// members of other algorithms and other meanings, second spellings, borrowed and malleable signatures.
import {
  createHash,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";

export interface SigningPair {
  readonly privateKey: KeyObject;
  readonly x: string;
  readonly kid: string;
}

export function newPair(): SigningPair {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const { x } = publicKey.export({ format: "jwk" });
  const canonical = `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`;
  const kid = createHash("sha256").update(canonical).digest("base64url");
  return { privateKey, x: x!, kid };
}

const encode = (text: string | Uint8Array) => Buffer.from(text).toString("base64url");

export function uuidV7(nowMs = Date.now()): string {
  const hex = nowMs.toString(16).padStart(12, "0") + randomBytes(10).toString("hex");
  const [time, low, a, b] = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(13, 16),
    hex.slice(17, 20),
  ];
  return `${time}-${low}-7${a}-8${b}-${hex.slice(20, 32)}`;
}

type Members = Record<string, unknown>;

/** Members of a header that would be taken. */
export function headerOf(kid: string, audience: string): Members {
  const iat = Math.floor(Date.now() / 1000);
  return {
    alg: "Ed25519",
    kid,
    typ: "outcome+jws",
    b64: false,
    crit: ["b64"],
    aud: audience,
    iat,
    jti: uuidV7(),
  };
}

/** A detached JWS over a body, signed with a pair, whatever its header says. */
export function sealed(pair: SigningPair, header: Members | string, body: string): string {
  const text = encode(typeof header === "string" ? header : JSON.stringify(header));
  return `${text}..${encode(sign(null, Buffer.from(`${text}.${body}`), pair.privateKey))}`;
}

export interface Forgers {
  /** The reporter whose name the outcome carries; only its public half is the attacker's. */
  readonly victim: SigningPair;
  /** A registered key of another agent, and one that nobody has registered. */
  readonly registered: SigningPair;
  readonly unknown: SigningPair;
  readonly audience: string;
  readonly body: string;
  /** A signature by the victim over another body, as it was seen on the wire. */
  readonly seen: string;
}

/** Changes of the header that an attacker signs with a key of his own. */
function* headerChanges(victimX: string, attacker: SigningPair): Generator<Members> {
  const algorithms = [
    "none",
    "None",
    "NONE",
    "nOnE",
    "",
    "HS256",
    "HS512",
    "RS256",
    "PS256",
    "ES256",
    "ES256K",
    "Ed448",
    "Ed25519ph",
    "EdDSA",
    "ed25519",
    null,
    0,
    [],
    ["Ed25519"],
    {},
  ];
  for (const alg of algorithms) yield { alg };
  const kids = [
    "",
    "../../etc/passwd",
    "' OR 1=1 --",
    "__proto__",
    "*",
    attacker.x,
    victimX,
    null,
    0,
    [],
    "a".repeat(600),
    "\u0000",
  ];
  for (const kid of kids) yield { kid };
  for (const typ of ["JWT", "outcome+JWS", "key-proof+jws", "", null]) yield { typ };
  for (const crit of [[], ["b64", "exp"], ["exp"], "b64", null, ["b64", "b64"]]) yield { crit };
  for (const b64 of [true, null, "false", 0]) yield { b64 };
  const jwk = { kty: "OKP", crv: "Ed25519", x: attacker.x };
  yield { jwk };
  yield { jku: "http://127.0.0.1:1/keys", x5u: "http://127.0.0.1:1/keys" };
  yield { x5c: [attacker.x] };
  yield { zip: "DEF" };
  yield { exp: 0 };
  for (const aud of ["trustrank:other", "", "*", null, [], ["trustrank"]]) yield { aud };
  const nowSec = Math.floor(Date.now() / 1000);
  for (const iat of [0, -1, nowSec + 86_400, nowSec - 30 * 86_400, "1", null, 1e99]) yield { iat };
  for (const jti of [
    "",
    "x",
    "0198c5d2-0000-4000-8000-000000000001",
    uuidV7(0),
    uuidV7(Date.now() + 1e9),
    null,
  ])
    yield { jti };
}

/** Headers for the outcome of the victim, none of which the victim has signed. */
export function* forgeries(forgers: Forgers): Generator<[string, string]> {
  const { victim, registered, unknown, audience, body, seen } = forgers;
  const good = () => headerOf(victim.kid, audience);
  for (const change of headerChanges(victim.x, unknown)) {
    yield [
      `header ${JSON.stringify(change)}`.slice(0, 80),
      sealed(unknown, { ...good(), ...change }, body),
    ];
  }
  for (const [name, pair] of Object.entries({ registered, unknown })) {
    yield [`the victim's kid, signed by ${name}`, sealed(pair, good(), body)];
    yield [`own kid of ${name}`, sealed(pair, headerOf(pair.kid, audience), body)];
  }
  const text = encode(JSON.stringify(good()));
  for (const [name, secret] of Object.entries({
    x: victim.x,
    raw: Buffer.from(victim.x, "base64url"),
  })) {
    const mac = createHmac("sha256", secret).update(`${text}.${body}`).digest();
    yield [`a MAC under ${name}`, `${text}..${encode(Buffer.concat([mac, mac]))}`];
  }
  const signatures: Record<string, Uint8Array> = {
    empty: Buffer.alloc(0),
    zeros: Buffer.alloc(64),
    ones: Buffer.alloc(64, 0xff),
    "small R": Buffer.concat([Buffer.from([1]), Buffer.alloc(63)]),
    random: randomBytes(64),
    short: randomBytes(63),
    long: randomBytes(65),
  };
  for (const [name, bytes] of Object.entries(signatures))
    yield [`signature ${name}`, `${text}..${encode(bytes)}`];
  yield* borrowed(seen, text);
}

/** What was signed over another body, under this one and in other spellings. */
function* borrowed(seen: string, text: string): Generator<[string, string]> {
  const [head = "", , signature = ""] = seen.split(".");
  yield ["as it was seen", seen];
  yield ["its signature under a new header", `${text}..${signature}`];
  const bytes = Buffer.from(signature, "base64url");
  yield ["with the group's order added to S", `${head}..${encode(withOrder(bytes))}`];
  yield [
    "with the sign of R turned",
    `${head}..${encode(bytes.with(31, (bytes[31] ?? 0) ^ 0x80))}`,
  ];
  yield ["padded", `${seen}==`];
  yield ["in another alphabet", `${head}..${bytes.toString("base64")}`];
  yield ["with a payload", `${head}.${encode("{}")}.${signature}`];
  yield ["with a dot more", `${seen}.`];
  yield ["with a space", ` ${seen} x`];
  yield ["two of them", `${seen}, ${seen}`];
  yield ["as JSON", JSON.stringify({ protected: head, signature })];
  const members = Buffer.from(head, "base64url").toString();
  yield ["alg doubled", `${encode(`{"alg":"none",${members.slice(1)}`)}..${signature}`];
  yield ["alg escaped", `${encode(members.replace('"alg"', '"\\u0061lg"'))}..${signature}`];
  yield ["with white space", `${encode(members.replace("{", "{ "))}..${signature}`];
  yield ["with a byte order mark", `${encode(`\ufeff${members}`)}..${signature}`];
  yield ["as a list", `${encode(`[${members}]`)}..${signature}`];
}

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** The same signature as lax verifiers see it: S plus the order of the group. */
function withOrder(signature: Buffer): Buffer {
  const big = Buffer.from(signature.subarray(32).toReversed()).toString("hex");
  const s = BigInt(`0x${big || "0"}`);
  const hex = (s + ORDER).toString(16).padStart(64, "0").slice(-64);
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(hex, "hex").toReversed()]);
}

/** Encodings of points of small order and of none, with which any message verifies or nothing is shown. */
const WEAK_POINTS = [
  "00".repeat(32),
  `01${"00".repeat(31)}`,
  `${"00".repeat(31)}80`,
  `01${"00".repeat(30)}80`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  ...["ec", "ed", "ee", "ef", "ff"].flatMap((low) => [
    `${low}${"ff".repeat(30)}7f`,
    `${low}${"ff".repeat(31)}`,
  ]),
  "00".repeat(31),
  "00".repeat(33),
  "",
];

/** Public keys that may not be registered, as JWKs, each with its name. */
export function weakKeys(good: SigningPair): [string, object][] {
  const jwk = { kty: "OKP", crv: "Ed25519", x: good.x };
  return [
    ...WEAK_POINTS.map((hex): [string, object] => [
      `point ${hex.slice(0, 8)}... of ${hex.length / 2} bytes`,
      { ...jwk, x: encode(Buffer.from(hex, "hex")) },
    ]),
    ["another type", { ...jwk, kty: "EC" }],
    ["another curve", { ...jwk, crv: "X25519" }],
    ["a symmetric key", { kty: "oct", k: good.x }],
    ["a private key", { ...jwk, d: good.x }],
    ["padded", { ...jwk, x: `${good.x}=` }],
    ["a list", { ...jwk, x: [good.x] }],
  ];
}

/** A proof over a nonce as the key's owner makes it; with a weak key, one that a lax verifier takes. */
export function proofOf(
  pair: SigningPair,
  kid: string,
  nonce: string,
  audience: string,
  isWeak: boolean,
): string {
  const header = encode(
    JSON.stringify({ alg: "Ed25519", kid, typ: "key-proof+jws", aud: audience }),
  );
  const input = `${header}.${encode(nonce)}`;
  const weak = Buffer.concat([Buffer.from([1]), Buffer.alloc(63)]);
  return `${input}.${encode(isWeak ? weak : sign(null, Buffer.from(input), pair.privateKey))}`;
}

// The header parser: whatever comes in is taken exactly or refused with its one code.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceFault } from "../../src/contract/faults.ts";
import { parseAttestation, parseDetachedJws, parseKeyProof } from "../../src/contract/jws.ts";

const KID = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
const JTI = "019c0000-0000-7000-8000-000000000001";
const HEADER = {
  alg: "Ed25519",
  kid: KID,
  typ: "outcome+jws",
  b64: false,
  crit: ["b64"],
  iat: 1_767_225_600,
  jti: JTI,
  aud: "trustrank:test",
};
const SIGNATURE = Buffer.alloc(64, 7).toString("base64url");

const encode = (text: string) => Buffer.from(text).toString("base64url");
const headerWith = (changes: Record<string, unknown>) =>
  `${encode(JSON.stringify({ ...HEADER, ...changes }))}..${SIGNATURE}`;

function codeOf(parse: () => unknown): string {
  try {
    parse();
    return "taken";
  } catch (thrown) {
    if (thrown instanceof ServiceFault) return thrown.code;
    throw thrown;
  }
}

describe("a detached JWS", () => {
  it("is read alike the first time and the thousandth, whatever changes", () => {
    // Everything before the change is known by then; what is taken must be what JSON says.
    const text = JSON.stringify(HEADER);
    const edit = fc.record({
      at: fc.nat(text.length - 1),
      kind: fc.constantFrom("flip", "insert", "delete"),
      character: fc.oneof(
        fc.constantFrom(...Array.from('0123456789abcdef":,{}[]- \\eE.')),
        fc.constantFrom('"iat":1,', '"jti":"', "\u00fc"),
      ),
    });
    let taken = 0;
    const check = (changed: string) => {
      let jws: ReturnType<typeof parseDetachedJws>;
      try {
        jws = parseDetachedJws(`${encode(changed)}..${SIGNATURE}`);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(ServiceFault);
        return;
      }
      taken += 1;
      const { iat, jti, kid, aud, ...rest } = JSON.parse(changed) as typeof HEADER;
      expect(jws).toMatchObject({ issuedAtMs: iat * 1000, jti, kid, audience: aud });
      expect(rest).toEqual({
        alg: "Ed25519",
        typ: "outcome+jws",
        b64: false,
        crit: ["b64"],
      });
    };
    check(text);
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 2 }), (edits) => {
        let changed = text;
        for (const { at, kind, character } of edits) {
          const rest = changed.slice(kind === "insert" ? at : at + 1);
          changed = changed.slice(0, at) + (kind === "delete" ? "" : character) + rest;
        }
        check(changed);
      }),
      { numRuns: 5000 },
    );
    expect(taken).toBeGreaterThan(100);
  });

  it("gives what was signed", () => {
    const text = headerWith({});
    expect(parseDetachedJws(text)).toMatchObject({
      protectedText: text.split(".")[0],
      kid: KID,
      audience: "trustrank:test",
      issuedAtMs: 1_767_225_600_000,
      jti: JTI,
      jtiMs: 0x019c0000_0000,
    });
  });

  it("is refused in every other form", () => {
    const broken = [
      "",
      ".",
      "..",
      `${encode(JSON.stringify(HEADER))}.${encode("{}")}.${SIGNATURE}`,
      `${encode(JSON.stringify(HEADER))}..${SIGNATURE}=`,
      `${encode(JSON.stringify(HEADER))}..${SIGNATURE.slice(2)}`,
      `${encode(JSON.stringify(HEADER))}..${SIGNATURE}.`,
      // The same 64 bytes in a second spelling: stray low bits in the last character.
      `${encode(JSON.stringify(HEADER))}..${SIGNATURE.slice(0, -1)}x`,
      `${encode(`{"alg":"none",${JSON.stringify(HEADER).slice(1)}`)}..${SIGNATURE}`,
      `${encode(JSON.stringify([HEADER]))}..${SIGNATURE}`,
      headerWith({ alg: "none" }),
      headerWith({ alg: "ES256" }),
      headerWith({ crit: ["b64", "exp"] }),
      headerWith({ crit: [] }),
      headerWith({ b64: true }),
      headerWith({ typ: "JWT" }),
      headerWith({ kid: "me" }),
      headerWith({ iat: 1.5 }),
      headerWith({ iat: -1 }),
      headerWith({ jti: JTI.toUpperCase() }),
      headerWith({ jti: "0198c5d2-0000-4000-8000-000000000001" }),
      headerWith({ aud: ["trustrank:test"] }),
      headerWith({ aud: "" }),
      headerWith({ aud: undefined }),
      headerWith({ jwk: {} }),
      headerWith({ aud: "a".repeat(2000) }),
    ];
    for (const text of broken) {
      expect([text, codeOf(() => parseDetachedJws(text))]).toEqual([text, "signature_malformed"]);
    }
  });

  it("is taken or refused, never anything else, whatever the text", () => {
    const any = fc.oneof(
      fc.string(),
      fc.json().map((text) => `${encode(text)}..${SIGNATURE}`),
      fc
        .record({ name: fc.constantFrom(...Object.keys(HEADER)), value: fc.jsonValue() })
        .map(({ name, value }) => headerWith({ [name]: value })),
    );
    fc.assert(
      fc.property(any, (text) => {
        expect(["taken", "signature_malformed"]).toContain(codeOf(() => parseDetachedJws(text)));
        expect(["taken", "key_proof_invalid"]).toContain(codeOf(() => parseKeyProof(text)));
        expect(["taken", "signature_malformed"]).toContain(codeOf(() => parseAttestation(text)));
      }),
    );
  });

  it("does not survive a changed character unnoticed", () => {
    const text = headerWith({});
    const original = parseDetachedJws(text);
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.constantFrom("A", "z", "0", "-", "_", ".", "="),
        (at, character) => {
          const changed = text.slice(0, at) + character + text.slice(at + 1);
          if (changed === text) return;
          try {
            const parsed = parseDetachedJws(changed);
            const isSame =
              parsed.protectedText === original.protectedText &&
              parsed.signature.equals(original.signature);
            expect(isSame).toBe(false);
          } catch (thrown) {
            expect((thrown as ServiceFault).code).toBe("signature_malformed");
          }
        },
      ),
    );
  });
});

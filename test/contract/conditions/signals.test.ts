// Claims of security event tokens: what is refused, what an event means for an agent, and the file of issuers.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  parseSignalIssuers,
  readSecuritySignal,
  SIGNAL_AGE_MS_MAX,
  SignalRefused,
} from "../../../src/contract/conditions/signals.ts";

const NOW_MS = 1_780_000_000_000;
const ISSUER = { issuer: "https://idp.example", namespaces: ["agent://acme/*"] };
const RISC = "https://schemas.openid.net/secevent/risc/event-type/";
const CAEP = "https://schemas.openid.net/secevent/caep/event-type/";
const AGENT = "agent://acme/payer";
const OF_AGENT = { format: "uri", uri: AGENT };

const claimsOf = (type: string, event: object = {}, more: object = {}) => ({
  iss: ISSUER.issuer,
  jti: "set-1",
  iat: NOW_MS / 1000 - 5,
  aud: "https://trust.example",
  sub_id: OF_AGENT,
  events: { [type]: event },
  ...more,
});

function refusalOf(claims: Record<string, unknown>): string {
  try {
    readSecuritySignal(claims, ISSUER, NOW_MS);
  } catch (error) {
    if (error instanceof SignalRefused) return error.code;
    throw error;
  }
  return "none";
}

describe("an event", () => {
  it.each([
    [`${RISC}account-disabled`, {}, "restrict"],
    [`${RISC}account-enabled`, {}, "restore"],
    [`${CAEP}credential-change`, { change_type: "revoke" }, "restrict"],
    [`${CAEP}credential-change`, { change_type: "delete" }, "restrict"],
    [`${CAEP}credential-change`, { change_type: "create" }, "none"],
    [`${CAEP}session-revoked`, {}, "none"],
    ["https://evil.example/account-disabled", {}, "none"],
  ])("%s %j: %s", (type, event, effect) => {
    const signal = readSecuritySignal(claimsOf(type, event), ISSUER, NOW_MS);
    expect(signal).toMatchObject({ id: "set-1", effect, agent: AGENT });
  });

  it("counts from its own time, never from one after the token's", () => {
    const type = `${RISC}account-disabled`;
    const at = (seconds: number) =>
      readSecuritySignal(claimsOf(type, { event_timestamp: seconds }), ISSUER, NOW_MS).atMs;
    expect(at(NOW_MS / 1000 - 900)).toBe(NOW_MS - 900_000);
    expect(at(NOW_MS / 1000 + 900)).toBe(NOW_MS - 5000);
  });

  it("about a user, or somebody else's subject, has no effect", () => {
    const type = `${RISC}account-disabled`;
    for (const subject of [
      { format: "email", email: "a@example.com" },
      { format: "uri", uri: "https://example.com/a" },
      { format: "iss_sub", iss: "https://other.example", sub: AGENT },
    ]) {
      const signal = readSecuritySignal(claimsOf(type, {}, { sub_id: subject }), ISSUER, NOW_MS);
      expect(signal.effect).toBe("none");
    }
    const own = { format: "iss_sub", iss: ISSUER.issuer, sub: AGENT };
    expect(readSecuritySignal(claimsOf(type, {}, { sub_id: own }), ISSUER, NOW_MS).agent).toBe(
      AGENT,
    );
  });
});

describe("a token is refused", () => {
  const type = `${RISC}account-disabled`;
  it.each([
    ["without an id", { jti: undefined }],
    ["with a long id", { jti: "x".repeat(257) }],
    ["with `exp`", { exp: NOW_MS / 1000 + 60 }],
    ["with `sub`", { sub: AGENT }],
    ["without a time", { iat: undefined }],
    ["from the future", { iat: NOW_MS / 1000 + 120 }],
    ["that is old", { iat: (NOW_MS - SIGNAL_AGE_MS_MAX) / 1000 - 1 }],
    ["without an event", { events: {} }],
    ["with two events", { events: { [type]: {}, [`${RISC}account-enabled`]: {} } }],
    ["whose event is no object", { events: { [type]: 1 } }],
    ["without a subject", { sub_id: undefined }],
  ])("%s", (_, more) => {
    expect(refusalOf(claimsOf(type, {}, more))).toBe("invalid_request");
  });

  it("about an agent of another namespace", () => {
    const subject = { format: "uri", uri: "agent://globex/payer" };
    expect(refusalOf(claimsOf(type, {}, { sub_id: subject }))).toBe("access_denied");
    const near = { format: "uri", uri: "agent://acme2/payer" };
    expect(refusalOf(claimsOf(type, {}, { sub_id: near }))).toBe("access_denied");
  });

  it("or read, whatever the claims are", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("jti", "iat", "events", "sub_id", "exp"), fc.anything()),
        (claims) => {
          expect(["none", "invalid_request", "access_denied"]).toContain(refusalOf(claims));
        },
      ),
      { seed: 48 },
    );
  });
});

describe("the file of issuers", () => {
  const key = { kty: "OKP", crv: "Ed25519", x: "AA" };
  const issuer = { issuer: "https://idp.example", audience: "a", tenant: "acme" };
  const whole = { ...issuer, jwks: { keys: [key] }, namespaces: ["agent://acme/*"] };

  it("is read", () => {
    expect(parseSignalIssuers([whole])).toEqual([whole]);
    expect(parseSignalIssuers([])).toEqual([]);
    const polled = { ...whole, poll: { url: "https://idp.example/poll", token_file: "a" } };
    expect(parseSignalIssuers([polled])).toEqual([polled]);
  });

  it.each([
    [{}, "must be a list"],
    [[1], "/0: must be an object"],
    [[{ ...whole, issuer: "" }], "/0/issuer"],
    [[{ ...whole, tenant: 5 }], "/0/tenant"],
    [[{ ...whole, jwks: { keys: [] } }], "/0/jwks/keys"],
    [[{ ...whole, jwks: { keys: [{ ...key, d: "AA" }] } }], "/0/jwks/keys"],
    [[{ ...whole, jwks: { keys: [{ kty: "oct", k: "AA" }] } }], "/0/jwks/keys"],
    [[{ ...whole, namespaces: ["agent://acme"] }], "/0/namespaces"],
    [[whole, whole], "/1/issuer"],
    [[{ ...whole, poll: 5 }], "/0/poll/url"],
    [[{ ...whole, poll: { url: "http://idp.example/poll" } }], "/0/poll/url"],
    [
      [{ ...whole, poll: { url: "https://idp.example/poll", token_file: 5 } }],
      "/0/poll/token_file",
    ],
  ])("refuses %j", (document, words) => {
    expect(() => parseSignalIssuers(document)).toThrow(words);
  });
});

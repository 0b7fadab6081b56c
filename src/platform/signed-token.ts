// Verification of signed JSON web tokens against a pinned key set: the one file that knows jose.
import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet, jwtVerify } from "jose";

/** Asymmetric ones: a shared secret proves nothing to a third party. */
const ALGORITHMS = ["ES256", "ES384", "PS256", "PS384", "RS256", "RS384", "Ed25519", "EdDSA"];

/** Why a token was not believed; `claim` where one of its claims was not as expected. */
export class TokenRefused extends Error {
  readonly claim: string | undefined;

  constructor(message: string, claim: string | undefined) {
    super(message);
    this.claim = claim;
  }
}

export interface ExpectedToken {
  readonly issuer: string;
  readonly audience: string;
  /** Media type in the header `typ`, without `application/`. */
  readonly type: string;
}

/** The issuer that a token names, unproven; undefined where it is no token. */
export function readUnverifiedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** Makes a verifier of tokens that one of the keys has signed. */
export function createTokenVerifier(keys: {
  readonly keys: readonly Record<string, unknown>[];
}): (token: string, expected: ExpectedToken) => Promise<Record<string, unknown>> {
  const find = createLocalJWKSet(keys as unknown as JSONWebKeySet);
  /** @throws TokenRefused */
  return async (token, { issuer, audience, type }) => {
    try {
      const options = { issuer, audience, typ: type, algorithms: ALGORITHMS };
      return (await jwtVerify(token, find, options)).payload;
    } catch (error) {
      const isClaim = error instanceof errors.JWTClaimValidationFailed;
      throw new TokenRefused((error as Error).message, isClaim ? error.claim : undefined);
    }
  };
}

// Receiver of security signals: the issuers that the operator's file pins, the proof of their tokens, and the polls.
import { readFileSync } from "node:fs";
import { SignalReceiver, type SignalVerifier } from "../bureau/signals.ts";
import {
  parseSignalIssuers,
  type SignalErrorCode,
  type SignalIssuer,
  SignalRefused,
} from "../contract/conditions/signals.ts";
import type { Log } from "../platform/log.ts";
import type { Closer } from "./closers.ts";
import { SignalPoller } from "./signal-poller.ts";
import type { ServiceStorage } from "./storage.ts";

/** `typ` of a security event token (RFC 8417, section 2.3). */
const TOKEN_TYPE = "secevent+jwt";

const CODES_BY_CLAIM: Readonly<Record<string, SignalErrorCode>> = {
  iss: "invalid_issuer",
  aud: "invalid_audience",
};

type SignalParts = Pick<ServiceStorage, "conditions" | "evidence" | "clock" | "cluster">;

/**
 * Undefined without a file: most services take no signals, and load no package for them.
 * @throws Error that names the file and the member at fault.
 */
export async function openSignals(
  file: string | undefined,
  { conditions, evidence, clock, cluster }: SignalParts,
  log: Log,
  closers: Closer[],
): Promise<SignalReceiver | undefined> {
  if (file === undefined) return undefined;
  const { createTokenVerifier, readUnverifiedIssuer, TokenRefused } =
    await import("../platform/signed-token.ts");
  const issuers = readIssuers(file);
  const verifiers = new Map(issuers.map((each) => [each, createTokenVerifier(each.jwks)]));
  const verify: SignalVerifier = async (token, issuer) => {
    try {
      return await verifiers.get(issuer)!(token, { ...issuer, type: TOKEN_TYPE });
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      const { claim, message } = error;
      const code = claim === undefined ? "invalid_key" : CODES_BY_CLAIM[claim];
      throw new SignalRefused(code ?? "invalid_request", message);
    }
  };
  const parts = { conditions, book: evidence.conditions, clock: clock.now };
  const readIssuer = readUnverifiedIssuer;
  const receiver = new SignalReceiver({ ...parts, issuers, verify, readIssuer });
  const leadership = cluster?.leaderships.of("credibility");
  for (const { poll: target, ...issuer } of issuers) {
    if (target === undefined) continue;
    const isLeader = () => leadership?.isHeld ?? true;
    const poller = new SignalPoller({ issuer, target, receiver, isLeader, log });
    closers.push(() => poller.close());
  }
  return receiver;
}

function readIssuers(file: string): SignalIssuer[] {
  try {
    return parseSignalIssuers(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw new Error(`signals_file ${file}: ${(error as Error).message}`, { cause: error });
  }
}

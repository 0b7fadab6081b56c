// `withTrustRank` (SPEC §4.7): a function that runs only when the verdict on its caller allows it.
import type { CheckVerdict, TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import { createGateError, TrustGateError } from "../errors.ts";
import {
  assertOptions,
  callOrThrowGateError,
  createObjectRule,
  FUNCTION,
  type OptionRule,
  readStakes,
  REQUIRED_FUNCTION,
} from "./gate-options.ts";
import { warnVerificationDue } from "./trust-mark.ts";
import { type VerificationCallback, verifyWeakerLeg } from "../verification.ts";
import { selectPassage } from "./passage.ts";

/** Maps a call's arguments to a question to the bureau. */
export interface WithTrustRankOptions<Arguments extends unknown[]> {
  /** The agent to score, from the wrapped function's arguments. */
  readonly agentId: (...args: Arguments) => string;
  /** The value at risk, from the same arguments. */
  readonly stakes: (...args: Arguments) => number;
  readonly client?: TrustRankClient;
  /**
   * Additional verification where the verdict is `connect_with_verification`, or the policy would not
   * allow the agent at L2; the third argument is the array of the wrapped function's arguments. Without
   * one `onEscalate` is asked, unless the policy allows the agent at L2 all the same.
   */
  readonly verification?: VerificationCallback<Arguments>;
  /**
   * Asks a person: called when the verdict is `escalate` (SPEC §3), and for verification where there is no
   * `verification`. Resolve true to run the function; without it the call does not run.
   */
  readonly onEscalate?: (verdict: CheckVerdict, ...args: Arguments) => boolean | Promise<boolean>;
}

const RULES: Readonly<Record<keyof WithTrustRankOptions<unknown[]>, OptionRule>> = {
  agentId: REQUIRED_FUNCTION,
  stakes: REQUIRED_FUNCTION,
  client: createObjectRule("a TrustRankClient", ["require"]),
  verification: FUNCTION,
  onEscalate: FUNCTION,
};

/**
 * `run` behind a trust gate. The gated function rejects with TrustGateError when the verdict is
 * against it or a callback fails, with TrustRankError when there is no verdict; `run` is not
 * called in either case. It runs unverified only where verify at L2 would allow the same stakes.
 * @throws TypeError at once, when an option is missing, unknown or of the wrong type.
 */
export function withTrustRank<Arguments extends unknown[], Result>(
  run: (...args: Arguments) => Result | Promise<Result>,
  options: WithTrustRankOptions<Arguments>,
): (...args: Arguments) => Promise<Result> {
  if (typeof run !== "function") throw new TypeError("`run` must be a function");
  assertOptions(options, RULES);
  return async (...args) => {
    const agentId = callOrThrowGateError("agentId", () => options.agentId(...args));
    // The callback is required, so there is an amount.
    const stakes = readStakes(() => options.stakes(...args))!;
    const verdict = await requireClient(options.client).require(agentId, { stakes });
    if (!(await mayRun(verdict, options, args))) throw createGateError(agentId, verdict);
    return await run(...args);
  };
}

async function mayRun<Arguments extends unknown[]>(
  verdict: CheckVerdict,
  options: WithTrustRankOptions<Arguments>,
  args: Arguments,
): Promise<boolean> {
  const passage = selectPassage(verdict, "L2");
  if (passage === "open") return true;
  if (passage === "refused") return false;
  if (passage !== "person") {
    if (options.verification !== undefined)
      return verifyWeakerLeg(options.verification, verdict, verdict.subject, args);
    if (passage === "marked") {
      warnVerificationDue();
      return true;
    }
  }
  try {
    return (await options.onEscalate?.(verdict, ...args)) === true;
  } catch (cause) {
    throw new TrustGateError("`onEscalate` failed", verdict, cause);
  }
}

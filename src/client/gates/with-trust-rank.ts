// `withTrustRank` (SPEC §4.7): a function that runs only when the verdict on its caller allows it.
import type { CheckVerdict, TrustRankClient } from "../client.ts";
import { requireClient } from "../default-client.ts";
import { createGateError, TrustGateError } from "../errors.ts";
import { isCallAllowed } from "../read-reply.ts";

/** Maps a call's arguments to a question to the bureau. */
export interface WithTrustRankOptions<Arguments extends unknown[]> {
  /** The agent to score, from the wrapped function's arguments. */
  readonly agentId: (...args: Arguments) => string;
  /** The value at risk, from the same arguments. */
  readonly stakes: (...args: Arguments) => number;
  readonly client?: TrustRankClient;
  /**
   * Called when the verdict is `escalate` (SPEC §3: a human approves first). Resolve true to run
   * the function; without it an escalated call does not run.
   */
  readonly onEscalate?: (verdict: CheckVerdict, ...args: Arguments) => boolean | Promise<boolean>;
}

/**
 * `run` behind a trust gate. The gated function rejects with TrustGateError when the verdict is
 * against it or a callback throws, with TrustRankError when there is no verdict; `run` is not
 * called in either case.
 */
export function withTrustRank<Arguments extends unknown[], Result>(
  run: (...args: Arguments) => Result | Promise<Result>,
  options: WithTrustRankOptions<Arguments>,
): (...args: Arguments) => Promise<Result> {
  return async (...args) => {
    const agentId = callOrThrowGateError("agentId", () => options.agentId(...args));
    const stakes = callOrThrowGateError("stakes", () => options.stakes(...args));
    const verdict = await requireClient(options.client).require(agentId, { stakes });
    if (!isCallAllowed(verdict)) await assertApproved(agentId, verdict, options, args);
    return await run(...args);
  };
}

async function assertApproved<Arguments extends unknown[]>(
  agentId: string,
  verdict: CheckVerdict,
  options: WithTrustRankOptions<Arguments>,
  args: Arguments,
): Promise<void> {
  let isApproved = false;
  try {
    isApproved = (await options.onEscalate?.(verdict, ...args)) === true;
  } catch (cause) {
    throw new TrustGateError("`onEscalate` failed", verdict, cause);
  }
  if (!isApproved) throw createGateError(agentId, verdict);
}

/** Calls a user's callback; one that throws is a refusal, never a skipped check. */
export function callOrThrowGateError<Value>(name: string, callback: () => Value): Value {
  try {
    return callback();
  } catch (cause) {
    throw new TrustGateError(`callback \`${name}\` failed`, undefined, cause);
  }
}

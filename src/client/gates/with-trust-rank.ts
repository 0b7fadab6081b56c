// `withTrustRank` (SPEC §4.7): a function that runs only when the verdict on its caller allows it.
import type { CheckVerdict, TrustRankClient } from "../client.ts";
import { clientFor } from "../default-client.ts";
import { refusal, TrustGateError } from "../errors.ts";
import { isLetThrough } from "../read-reply.ts";

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
    const agentId = answerOf("agentId", () => options.agentId(...args));
    const stakes = answerOf("stakes", () => options.stakes(...args));
    const verdict = await clientFor(options.client).require(agentId, { stakes });
    if (!isLetThrough(verdict)) await approve(agentId, verdict, options, args);
    return await run(...args);
  };
}

async function approve<Arguments extends unknown[]>(
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
  if (!isApproved) throw refusal(agentId, verdict);
}

/** Calls a user's callback; one that throws is a refusal, never a skipped check. */
export function answerOf<Value>(name: string, callback: () => Value): Value {
  try {
    return callback();
  } catch (cause) {
    throw new TrustGateError(`callback \`${name}\` failed`, undefined, cause);
  }
}

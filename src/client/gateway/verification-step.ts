// Step after a gateway's ruling: additional verification of the weaker leg (SPEC §3). It decides about one
// call: nothing of it enters a cache.
import type { ToolLevel } from "../../contract/vocabulary.ts";
import { callSafely } from "../outage-alert.ts";
import { isShadowVerdict } from "../read-reply.ts";
import type { AnyVerdict, GatewayAnswer, LogCallback } from "../ruling.ts";
import { logWarning } from "../runtime.ts";
import {
  findWeakerLeg,
  isVerificationDue,
  type VerificationCallback,
  verifyWeakerLeg,
} from "../verification.ts";
import { isSensitive } from "./fail-policy.ts";
import { raceWithAbort } from "./single-flight.ts";

/** The part of a gateway's request that verification needs. */
interface VerifiableCall<Call> {
  readonly agentId: string;
  readonly toolLevel?: ToolLevel;
  readonly signal?: AbortSignal | undefined;
  readonly verification?: VerificationCallback<Call> | undefined;
}

export class VerificationStep<Call extends VerifiableCall<Call>> {
  readonly #callback: VerificationCallback<Call> | undefined;
  readonly #onLog: LogCallback | undefined;
  #hasWarned = false;

  /** @throws TypeError when `callback` is given and no function. */
  constructor(callback: VerificationCallback<Call> | undefined, onLog: LogCallback | undefined) {
    assertVerificationCallback(callback);
    this.#callback = callback;
    this.#onLog = onLog;
  }

  /**
   * The answer after verification. The call's own callback replaces the gateway's. At L0 and L1 an open
   * connection is only marked: the table of tool levels lets it through (SPEC §8.1). Never rejects.
   */
  async apply<Verdict extends AnyVerdict>(
    answer: GatewayAnswer<Verdict>,
    call: Call,
  ): Promise<GatewayAnswer<Verdict>> {
    const { verdict, allowed } = answer;
    if (verdict === undefined || isShadowVerdict(verdict) || !isVerificationDue(verdict))
      return answer;
    const callback = call.verification ?? this.#callback;
    const isTolerated = allowed && !isSensitive(call.toolLevel ?? "L3");
    if (callback === undefined || isTolerated) {
      if (allowed && !isTolerated) this.#warnOnce(answer, call);
      return { ...answer, verification: "due" };
    }
    const hasPassed = await raceWithAbort(
      verifyWeakerLeg(callback, verdict, call.agentId, call),
      call.signal,
      () => undefined,
    ).catch(() => false);
    return this.#applyResult(answer, call, hasPassed);
  }

  #applyResult<Verdict extends AnyVerdict>(
    answer: GatewayAnswer<Verdict>,
    { agentId, toolLevel = "L3" }: Call,
    hasPassed: boolean,
  ): GatewayAnswer<Verdict> {
    const kind = hasPassed ? "verification_passed" : "verification_failed";
    const { reason, verdict } = answer;
    callSafely(this.#onLog, {
      kind,
      agentId,
      toolLevel,
      reason,
      ...(verdict === undefined ? {} : { verdict }),
    });
    return hasPassed
      ? { ...answer, allowed: true, status: 200, verification: "passed" }
      : {
          ...answer,
          allowed: false,
          status: 403,
          reason: "VERIFICATION_FAILED",
          flagged: false,
          verification: "failed",
        };
  }

  #warnOnce({ verdict }: GatewayAnswer<AnyVerdict>, { agentId }: Call): void {
    if (this.#hasWarned || verdict === undefined) return;
    this.#hasWarned = true;
    const subject = JSON.stringify(findWeakerLeg(verdict, agentId).subject);
    logWarning(
      `trustrank: verification of ${subject} was due and nobody has verified it: pass \`verification\` to the ` +
        "gateway; further connections are only marked X-Trust-Verification: due",
    );
  }
}

/** @throws TypeError when `callback` is given and no function. */
export function assertVerificationCallback(callback: unknown): void {
  if (callback !== undefined && typeof callback !== "function")
    throw new TypeError("`verification` must be a function");
}

// Mark of an admitted identity: whether additional verification is still due (SPEC §3), for the route behind
// the gate. One registry for the process, whichever copy of this library reads it; entries end with their keys.
import { logWarning } from "../runtime.ts";
import type { WeakerLeg } from "../verification.ts";

/** How an identity was admitted. */
export interface TrustMark {
  readonly agentId: string;
  /** The connection is open, but the weaker leg is still to be verified. */
  readonly isVerificationDue: boolean;
  /** The leg to verify, where that is due. */
  readonly weakerLeg: WeakerLeg | undefined;
  /** For the response: `X-Trust-Verification: due`, or none. */
  readonly headers: Readonly<Record<string, string>>;
}

const MARKS_SYMBOL = Symbol.for("trustrank.marks");
const globalScope = globalThis as { [MARKS_SYMBOL]?: WeakMap<object, TrustMark> };

/**
 * The mark that a gate left on an identity or on the event (a Request) that it came with; undefined where no
 * gate has admitted it. Ask by the event where several requests share one identity object: there the newest
 * admission counts.
 */
export function readTrustMark(identityOrEvent: object): TrustMark | undefined {
  return globalScope[MARKS_SYMBOL]?.get(identityOrEvent);
}

/** Leaves the mark on each of the objects. */
export function putTrustMark(mark: TrustMark, holders: readonly unknown[]): void {
  const marks = (globalScope[MARKS_SYMBOL] ??= new WeakMap());
  for (const holder of holders) {
    if (typeof holder === "object" && holder !== null) marks.set(holder, mark);
  }
}

let hasWarned = false;

export function createTrustMark(agentId: string, weakerLeg: WeakerLeg | undefined): TrustMark {
  const isVerificationDue = weakerLeg !== undefined;
  const headers: Record<string, string> = {};
  if (isVerificationDue) headers["X-Trust-Verification"] = "due";
  return Object.freeze({ agentId, isVerificationDue, weakerLeg, headers });
}

/** Warns once a process that calls proceed although their verification is due. */
export function warnVerificationDue(): void {
  if (hasWarned) return;
  hasWarned = true;
  logWarning(
    "trustrank: a call proceeded with verification due on its weaker leg; pass `verification` to verify it",
  );
}

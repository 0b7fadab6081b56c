// Port to what the deciding threads of one process count and hold for each agent and tenant: calls, new actions, and
// the stakes that the agent was let through for and that no outcome has settled.
import type { LimitCode } from "./codes.ts";

/** What an agent has done with a tenant within the last hour, this call included. */
export interface HourlyActivity {
  calls: number;
  /** Actions that it was not seen to do on this UTC day and the one before. */
  newActions: number;
}

/** Stakes of one call. */
export interface HeldStakes {
  readonly tenant: string;
  readonly agent: string;
  readonly requestId: string;
  /** In the unit of account, above 0. */
  readonly amount: number;
}

export interface ActivitySource {
  /** False: nothing is counted, and no stakes are held. */
  readonly isKept: boolean;
  /** Counts a call for the action. The result is reused: valid until the next count. */
  countCall(tenant: string, agent: string, action: string, nowMs: number): HourlyActivity;
  /**
   * Adds the stakes to the agent's, before the call is decided, so that calls on other threads see them.
   * Returns what was held before, in the unit of account.
   */
  hold(stakes: HeldStakes, nowMs: number): number;
  /** Ends the decision on stakes held: `kept`, 0 to `amount`, stays until an outcome settles it, or it fades. */
  keep(stakes: HeldStakes, kept: number, nowMs: number): void;
  /**
   * Frees what an outcome with the request's id has settled, up to `amount`; once. Returns what it freed, in the
   * unit of account.
   */
  settle(stakes: HeldStakes, nowMs: number): number;
  /** Whether the agent whose call was counted last has no mark of the limit on this UTC day; sets it. */
  markOncePerDay(code: LimitCode, nowMs: number): boolean;
  /** Counts a call that was beyond a limit. */
  noteLimit(code: LimitCode, mode: "log" | "enforce"): void;
  /** What is held for the agent now, in the unit of account. */
  readUnsettled(tenant: string, agent: string, nowMs: number): number;
}

const NO_ACTIVITY: HourlyActivity = Object.freeze({ calls: 0, newActions: 0 });

/** Counts and holds nothing. */
export const noActivity: ActivitySource = {
  isKept: false,
  countCall: () => NO_ACTIVITY,
  hold: () => 0,
  keep: () => undefined,
  settle: () => 0,
  markOncePerDay: () => false,
  noteLimit: () => undefined,
  readUnsettled: () => 0,
};

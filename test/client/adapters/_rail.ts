// Conformance suite of the rails: every row of the contract table played through one adapter.
import { expect, it } from "vitest";
import { type ApprovalPolicy } from "../../../src/client/gates/approval.ts";
import { approvalByTool } from "../../../src/client/gates/approval-by-tool.ts";
import type { OutcomeReport } from "../../../src/client/reporting/outcome-report.ts";
import type { SkippedCounts } from "../../../src/client/reporting/skipped-calls.ts";
import { agent, type Bank } from "../_bank.ts";
import {
  findException,
  RAIL_CASES,
  RAIL_ROWS,
  type RailAdapter,
  type RailCase,
} from "./_rail-table.ts";

/** One call of the tool in a framework. */
export interface RailCall {
  readonly policy: ApprovalPolicy;
  readonly report: OutcomeReport;
  /** Name by which the model calls the tool; it is `transfer`. */
  readonly toolName: string;
  /** What the model writes. */
  readonly input: Record<string, unknown>;
  /** Answer of the person who is asked about a parked call; undefined: none comes. */
  readonly isApproved: boolean | undefined;
  readonly isStreamed: boolean;
  /** Ends the run once the tool has begun, where it is given. */
  readonly abort: ((stop: AbortController) => void) | undefined;
  /** Calls the tool a second time after it failed. */
  readonly isRetried: boolean;
  /** The framework makes an error value of what the tool throws. */
  readonly isSwallowed: boolean;
  /** The tool has a schema of its results. */
  readonly isOutputChecked: boolean;
  /** What the report's own callback returns, for a rail that has another report. */
  readonly isAgentFault: boolean | undefined;
}

export const PLAIN_CALL = {
  toolName: "transfer",
  isApproved: true,
  isStreamed: false,
  abort: undefined,
  isRetried: false,
  isSwallowed: false,
  isOutputChecked: false,
  isAgentFault: undefined,
} satisfies Partial<RailCall>;

export interface RailDriver {
  readonly name: RailAdapter;
  /** Plays one call to its end; the framework's own errors are expected and swallowed. */
  play(call: RailCall): Promise<void>;
  /** What the tool returns as an error, in the framework's own form. */
  readonly errorValue?: () => unknown;
}

const AMOUNT = 40;
const NO_SKIPS: SkippedCounts = {
  refused: 0,
  notRun: 0,
  unfinished: 0,
  faultUnknown: 0,
  undecided: 0,
  unattributed: 0,
};
const ABORTS: Partial<Record<RailCase, (stop: AbortController) => void>> = {
  cancelled: (stop) => stop.abort(),
  cancelledForReason: (stop) => stop.abort(new Error("the user has left")),
};
const APPROVALS: Partial<Record<RailCase, boolean>> = { approved: true, rejected: false };

/** Plays every row that the adapter's framework has a way to, and compares what was reported and counted. */
export function holdsTheRailContract(driver: RailDriver, bankOf: () => Bank): void {
  const cases = RAIL_CASES.filter((railCase) => {
    const exception = findException(driver.name, railCase);
    return exception === undefined || exception.instead !== undefined;
  });

  it.for(cases)("keeps the contract of the rails: %s", async (railCase) => {
    const row = RAIL_ROWS[railCase];
    const expected = findException(driver.name, railCase)?.instead ?? row;
    const bank = bankOf();
    const { isAgentFault } = row;
    const rail = bank.open(isAgentFault === undefined ? {} : { isAgentFault: () => isAgentFault });
    bank.behaviour = row.tool;
    bank.errorValue = driver.errorValue?.() ?? { isError: true };
    const policy =
      railCase === "ungated"
        ? approvalByTool({ transfer: true }, { transfer: "run" })
        : rail.policy;
    // A value that the policy can weigh and the tool's schema refuses.
    const amount = railCase === "invalidArguments" ? AMOUNT + 0.5 : AMOUNT;
    await driver.play({
      ...rail,
      policy,
      toolName: railCase === "unknownTool" ? "transfr" : "transfer",
      input: { counterparty: agent(row.counterparty), amount },
      isApproved: APPROVALS[railCase],
      isStreamed: railCase === "streamed",
      abort: ABORTS[railCase],
      isRetried: railCase === "retried",
      isSwallowed: railCase === "swallowedThrow",
      isOutputChecked: railCase === "invalidOutput",
      isAgentFault,
    });
    await rail.report.queue.flush(5000);
    expect(bank.ran).toHaveLength(row.runs ?? 1);
    expect(bank.outcomes()).toEqual(expected.outcomes);
    const { counted } = expected;
    expect(rail.report.skipped).toEqual(counted ? { ...NO_SKIPS, [counted]: 1 } : NO_SKIPS);
    for (const reported of bank.reported()) {
      expect(reported).toMatchObject({
        subject: `agent://shop/${row.counterparty}`,
        reporter: "agent://acme/me",
        stakes: AMOUNT,
        grade: "counterparty",
        isAgentFault: reported.outcome === 1 || expected.fault === "the agent's",
      });
      expect(bank.decided).toContain(reported.requestId);
    }
  });
}

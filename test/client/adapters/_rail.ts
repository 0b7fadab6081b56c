// Conformance suite of the rails: the same ten ends of a tool call through every adapter, and what
// each reports. The row that an adapter earns here is the one in docs/guide/client.md.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { ApprovalPolicy } from "../../../src/client/gates/approval.ts";
import type { OutcomeReport } from "../../../src/client/reporting/outcome-report.ts";
import { agent, type Bank, type Behaviour } from "../_bank.ts";

/** Columns of the table in docs/guide/client.md, in order. */
export const RAIL_CASES = [
  "returned",
  "streamed",
  "threw",
  "error value",
  "refused",
  "approved",
  "rejected",
  "invalid arguments",
  "cancelled",
  "retried",
] as const;
export type RailCase = (typeof RAIL_CASES)[number];

/** One call of the tool in a framework. */
export interface RailCall {
  readonly policy: ApprovalPolicy;
  readonly report: OutcomeReport;
  /** What the model writes. */
  readonly input: Record<string, unknown>;
  /** Answer of the person who is asked about a parked call. */
  readonly isApproved: boolean;
  readonly isStreamed: boolean;
  /** Aborts the run once the tool has begun. */
  readonly isCancelled: boolean;
  /** Calls the tool a second time after it failed. */
  readonly isRetried: boolean;
}

export interface RailDriver {
  readonly name: string;
  /** Plays one call to its end; the framework's own errors are expected and swallowed. */
  play(call: RailCall): Promise<void>;
  /** Cases that the framework has no way to. */
  readonly cannot?: readonly RailCase[];
  /** What the tool returns as an error, in the framework's own form. */
  readonly errorValue?: () => unknown;
}

interface Expected {
  readonly counterparty: string;
  readonly behaviour: Behaviour;
  readonly outcomes: readonly number[];
}

const EXPECTED: Record<RailCase, Expected> = {
  returned: { counterparty: "connect", behaviour: "returns", outcomes: [1] },
  streamed: { counterparty: "connect", behaviour: "returns", outcomes: [1] },
  threw: { counterparty: "connect", behaviour: "throws", outcomes: [0] },
  "error value": { counterparty: "connect", behaviour: "error value", outcomes: [0] },
  refused: { counterparty: "refuse", behaviour: "returns", outcomes: [] },
  approved: { counterparty: "escalate", behaviour: "returns", outcomes: [1] },
  rejected: { counterparty: "escalate", behaviour: "returns", outcomes: [] },
  "invalid arguments": { counterparty: "connect", behaviour: "returns", outcomes: [] },
  cancelled: { counterparty: "connect", behaviour: "hangs", outcomes: [] },
  retried: { counterparty: "connect", behaviour: "flaky", outcomes: [0, 1] },
};

/** What ran in each case; the tool of a refused call never does. */
const RUNS: Partial<Record<RailCase, number>> = {
  refused: 0,
  rejected: 0,
  "invalid arguments": 0,
  retried: 2,
};

const AMOUNT = 40;

/** Plays the ten cases and holds what was reported, then the row of the page. */
export function holdsTheRailContract(driver: RailDriver, bankOf: () => Bank): void {
  const cells: string[] = [];

  it.for(RAIL_CASES)("reports what ran and nothing else: %s", async (railCase) => {
    if (driver.cannot?.includes(railCase) === true) {
      cells.push("–");
      return;
    }
    const bank = bankOf();
    const rail = bank.open();
    const { counterparty, behaviour, outcomes } = EXPECTED[railCase];
    bank.behaviour = behaviour;
    bank.errorValue = driver.errorValue?.() ?? { isError: true };
    const isInvalid = railCase === "invalid arguments";
    const named = { counterparty: agent(counterparty) };
    await driver.play({
      ...rail,
      input: isInvalid ? { ...named, amount: "a lot" } : { ...named, amount: AMOUNT },
      isApproved: railCase === "approved",
      isStreamed: railCase === "streamed",
      isCancelled: railCase === "cancelled",
      isRetried: railCase === "retried",
    });
    await rail.report.queue.flush(5000);
    expect(bank.ran).toHaveLength(RUNS[railCase] ?? 1);
    expect(bank.outcomes()).toEqual(outcomes);
    for (const reported of bank.reported()) {
      expect(reported).toMatchObject({
        subject: `agent://shop/${counterparty}`,
        reporter: "agent://acme/me",
        stakes: AMOUNT,
        // A failure here is the bank's; of a success nothing is said.
        isAgentFault: reported.outcome === 1,
      });
      expect(bank.decided).toContain(reported.requestId);
    }
    cells.push(outcomes.length === 0 ? "nothing" : outcomes.join(", "));
  });

  it("earns its row of the page", () => {
    const page = readFileSync(new URL("../../../docs/guide/client.md", import.meta.url), "utf8");
    const row = page.split("\n").findLast((line) => line.startsWith(`| ${driver.name} |`));
    expect(row).toBe(`| ${driver.name} | ${cells.join(" | ")} |`);
  });
}

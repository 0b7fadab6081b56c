// Types of the gates' callbacks: inferred from the wrapped function or the framework's own tool, and
// open where neither names them.
import { describe, expectTypeOf, it } from "vitest";
import {
  type EveApprovalPolicy,
  mutualHandshakeApproval,
} from "../../../src/client/adapters/eve.ts";
import { openAiExecute } from "../../../src/client/adapters/openai-agents.ts";
import { handshakeApproval } from "../../../src/client/gates/approval.ts";
import { withTrustRank } from "../../../src/client/gates/with-trust-rank.ts";
import { outcomeReport } from "../../../src/client/reporting/outcome-report.ts";

interface Transfer {
  readonly counterparty: string;
  readonly amount: number;
}

describe("the callbacks' types", () => {
  it("come from a wrapped function", () => {
    const pay = (from: string, { amount }: Transfer) => `${from} ${amount}`;
    const gated = withTrustRank(pay, {
      agentId: (from) => from,
      stakes: (_from, { amount }) => amount,
    });
    expectTypeOf(gated).parameters.toEqualTypeOf<[string, Transfer]>();
    expectTypeOf(gated).returns.resolves.toEqualTypeOf<string>();
  });

  it("come from a framework's own tool", () => {
    // As eve's `defineTool` takes it: the input's type comes from the tool's schema.
    const defineTool = <Input>(tool: {
      schema: (input: Input) => void;
      approval: (context: { toolName: string; callId: string; toolInput?: Input }) => unknown;
    }) => tool;
    defineTool({
      schema: (_input: Transfer) => undefined,
      approval: mutualHandshakeApproval({
        stakes: (input) => {
          expectTypeOf(input).toEqualTypeOf<Transfer>();
          return input.amount;
        },
      }),
    });
    expectTypeOf(mutualHandshakeApproval<Transfer>).returns.toEqualTypeOf<
      EveApprovalPolicy<Transfer>
    >();
  });

  it("may be named, and need not be", () => {
    handshakeApproval<Transfer>({
      // @ts-expect-error there is no such member
      stakes: ({ price }) => price,
    });
    const open = handshakeApproval({ stakes: (input) => input.amount });
    expectTypeOf(open).parameter(0).toExtend<{ readonly toolName: string }>();
  });

  it("leave a tool's function as it was", () => {
    const report = outcomeReport({});
    const run = openAiExecute(({ amount }: Transfer) => amount, { toolName: "pay", report });
    expectTypeOf(run).parameter(0).toEqualTypeOf<Transfer>();
    expectTypeOf(run).returns.resolves.toEqualTypeOf<number>();
  });
});

// Fixture of the adapters' tests: a tool worth gating, a policy over the real service and outcome
// reporting, with counters of tool calls, reads and reports.
import { type ApprovalPolicy, handshakeApproval } from "../../src/client/gates/approval.ts";
import { TrustRankClient } from "../../src/client/client.ts";
import {
  type OutcomeReport,
  outcomeReport,
  type OutcomeReportOptions,
} from "../../src/client/reporting/outcome-report.ts";
import { AgentFaultError, type ToolEnd } from "../../src/client/reporting/tool-end.ts";
import { type Reported, type Service, startTestService } from "./_service.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

export const agent = (name: string) => `agent://test/${name}`;

export interface Transfer {
  counterparty: string;
  amount: number;
}

export const schema = {
  type: "object" as const,
  properties: { counterparty: { type: "string" as const }, amount: { type: "integer" as const } },
  required: ["counterparty", "amount"],
  additionalProperties: false as const,
};

/** How the bank behaves when it is called; `flaky` throws the first time. */
export type Behaviour =
  | "returns"
  | "throws"
  | "throws the agent's fault"
  | "throws another's fault"
  | "flaky"
  | "error value"
  | "invalid output"
  | "hangs"
  | "times out";

/** One per suite; `open` starts each test afresh. */
export class Bank {
  readonly client: TrustRankClient;
  readonly #service: Service;
  behaviour: Behaviour = "returns";
  /** Returned as `error value`, in the framework's own form. */
  errorValue: unknown = { isError: true };
  ran: string[] = [];
  reads = 0;
  /** Request ids of the decisions since `open`. */
  decided: string[] = [];
  /** New for every test, unless a test repeats it. */
  callId = "";
  #callCount = 0;

  private constructor(service: Service) {
    this.#service = service;
    this.client = new TrustRankClient({
      ...service,
      agentId: "agent://acme/me",
      timeoutMs: WAIT_MS_MAX,
      fetch: (url, init) => {
        if (url.endsWith("/handshake")) this.reads += 1;
        return fetch(url, init);
      },
    });
  }

  static async start(): Promise<Bank> {
    return new Bank(await startTestService());
  }

  stop(): Promise<void> {
    return this.#service.stop();
  }

  open(options: OutcomeReportOptions = {}): { policy: ApprovalPolicy; report: OutcomeReport } {
    this.ran = [];
    this.reads = 0;
    this.decided = [];
    this.behaviour = "returns";
    this.#callCount += 1;
    this.callId = `call-${this.#callCount}`;
    this.#service.appended.length = 0;
    const { client } = this;
    const policy = handshakeApproval<Transfer>({
      client,
      initiator: () => agent("connect"),
      stakes: ({ amount }) => amount,
      onDecision: ({ verdict }) => void this.decided.push(verdict?.request_id ?? "none"),
    });
    // The agent that was decided on; outcomes of the reserved ones are refused.
    const subject = (end: ToolEnd) =>
      (end.decision ?? policy.decisionOn?.(end))?.subject?.replace("://test/", "://shop/");
    // Silent: what is not reported is counted.
    const onSkip = () => undefined;
    return { policy, report: outcomeReport({ client, policy, subject, onSkip, ...options }) };
  }

  /** The tool. */
  async transfer({ counterparty }: Transfer, signal?: AbortSignal): Promise<unknown> {
    this.ran.push(counterparty);
    const isFirst = this.ran.length === 1;
    switch (this.behaviour) {
      case "returns":
        return "sent";
      case "error value":
        return this.errorValue;
      case "invalid output":
        return { structuredContent: { sent: "yes" }, content: [] };
      case "hangs":
        return await aborted(signal);
      case "times out":
        return await aborted(AbortSignal.timeout(1));
      case "throws the agent's fault":
        throw new AgentFaultError("the seller has sent nothing");
      case "throws another's fault":
        throw Object.assign(new Error("the bank is closed"), { agentFault: false });
      case "flaky":
        if (!isFirst) return "sent";
    }
    throw new Error("the bank is closed");
  }

  /** What was reported, in order: 1 or 0. */
  outcomes(): number[] {
    return this.reported().map(({ outcome }) => outcome);
  }

  reported(): readonly Reported[] {
    return this.#service.appended;
  }
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal === undefined) throw new Error("this framework hands on no signal");
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

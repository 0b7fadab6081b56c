// Fixture of the adapters' tests: a tool worth gating, a policy over the real service and outcome
// reporting, with counters of tool calls, reads and reports.
import { type ApprovalPolicy, handshakeApproval } from "../../src/client/gates/approval.ts";
import { TrustRankClient } from "../../src/client/client.ts";
import { type OutcomeReport, outcomeReport } from "../../src/client/reporting/outcome-report.ts";
import { type Service, startTestService } from "./_service.ts";
import { WAIT_MS_MAX } from "../_patience.ts";

export const agent = (name: string) => `agent://test/${name}`;
const SUBJECT = "agent://shop/seller";

export interface Transfer {
  counterparty: string;
}

export const schema = {
  type: "object" as const,
  properties: { counterparty: { type: "string" as const } },
  required: ["counterparty"],
  additionalProperties: false as const,
};

/** One per suite; `open` starts each test afresh. */
export class Bank {
  readonly client: TrustRankClient;
  readonly #service: Service;
  ran: string[] = [];
  reads = 0;
  /** New for every test: outcomes are identified by it. */
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

  open(): { policy: ApprovalPolicy; report: OutcomeReport } {
    this.ran = [];
    this.reads = 0;
    this.#callCount += 1;
    this.callId = `call-${this.#callCount}`;
    this.#service.appended.length = 0;
    const { client } = this;
    const initiator = () => agent("connect");
    const policy = handshakeApproval({ client, initiator, stakes: () => 5 });
    return { policy, report: outcomeReport({ client, subject: () => SUBJECT }) };
  }

  /** The tool; with `agent://test/verify` it fails. */
  transfer({ counterparty }: Transfer): string {
    this.ran.push(counterparty);
    if (counterparty.endsWith("/verify")) throw new Error("the bank is closed");
    return "sent";
  }

  /** What was reported, in order: 1 or 0. */
  outcomes(): number[] {
    return this.#service.appended.map(({ outcome }) => outcome);
  }
}

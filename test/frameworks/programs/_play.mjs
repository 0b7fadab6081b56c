// Shared part of the programs: one tool behind a real policy and a real report, called by a framework that the
// program brings, for an agent that is allowed, one that is refused and one that waits for a person.
// Prints what ran and what was sent as one line of JSON.
import { handshakeApproval, outcomeReport, TrustRankClient } from "@trustrank/client";

const { BASE_URL, API_KEY, SUBJECT, MODEL_URL } = process.env;
export const modelUrl = MODEL_URL;
/** The agent that outcomes are reported on: the reserved ones have fixed verdicts, and take none. */
export const subject = SUBJECT;

/** Of the tool, as JSON Schema. */
export const schema = {
  type: "object",
  properties: { counterparty: { type: "string" }, amount: { type: "number" } },
  required: ["counterparty", "amount"],
  additionalProperties: false,
};

/**
 * Calls `run` once for each agent: it has the framework act on the prompt, never rejects for a refusal, and
 * resolves with the queue of its outcomes where that is not the report's.
 */
export async function play(run) {
  const client = new TrustRankClient({
    baseUrl: BASE_URL,
    apiKey: API_KEY,
    agentId: "agent://acme/payer",
    timeoutMs: 20_000,
  });
  const found = {};
  for (const name of ["connect", "refuse", "escalate"]) {
    const counterparty = `agent://test/${name}`;
    const policy = handshakeApproval({
      client,
      initiator: () => "agent://test/connect",
      stakes: ({ amount }) => amount,
    });
    const dropped = [];
    const onDrop = ({ why }) => dropped.push(why);
    const report = outcomeReport({ client, policy, subject: () => subject, onDrop });
    const ran = [];
    const transfer = (input) => {
      ran.push(input.counterparty);
      return "sent";
    };
    const input = { counterparty, amount: 40 };
    const call = { name, client, policy, report, transfer, input, prompt: `pay ${counterparty}` };
    const queue = (await run(call)) ?? report.queue;
    await queue.flush(20_000);
    found[name] = { ran, sent: queue.counts.sent, dropped };
  }
  console.log(JSON.stringify(found));
  process.exit(0);
}

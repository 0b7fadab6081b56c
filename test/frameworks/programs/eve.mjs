// eve: a tool with the approval and the hook of its results, each called as eve's runtime calls it. Without a
// model: eve runs agents only in its own server.
import { mutualHandshakeApproval, outcomeHook } from "@trustrank/client";
import { defineHook } from "eve/hooks";
import { defineTool } from "eve/tools";
import { play, subject } from "./_play.mjs";

await play(async ({ name, client, transfer, input }) => {
  const approval = mutualHandshakeApproval({
    client,
    initiator: () => "agent://test/connect",
    stakes: ({ amount }) => amount,
  });
  const inputSchema = { type: "object" };
  const tool = defineTool({ description: "sends", inputSchema, approval, execute: transfer });
  const outcomes = outcomeHook({ client, policy: approval.policy, subject: () => subject });
  const { events } = defineHook({ events: outcomes.events });
  const session = { id: `session-${name}`, auth: {} };
  const call = { toolName: "transfer", callId: `call-${name}` };
  const { type } = await tool.approval({ ...call, toolInput: input, session });
  if (type === "approved") await tool.execute(input, { session });
  const result = { kind: "tool-result", ...call };
  const status = type === "approved" ? "completed" : "rejected";
  const data = { turnId: name, stepIndex: 0, sequence: 1, status, result };
  await events["action.result"]({ data }, { session });
  return outcomes.queue;
});

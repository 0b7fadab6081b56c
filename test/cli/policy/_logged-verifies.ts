// Verifies of known and unknown agents at each level, as the decision log has them, with the engine that made
// them.
import type { ReplayServices } from "../../../src/bureau/decisions/replay.ts";
import type { ReplayableLeg } from "../../../src/contract/schemas/decisions.ts";
import { TOOL_LEVELS } from "../../../src/contract/vocabulary.ts";
import { defaultPolicySource } from "../../../src/policy/active-policy.ts";
import { legOf, openTable, principalOf } from "../../store/_decisions.ts";

const AGENTS = ["agent://shop/good", "agent://shop/bad", "agent://nobody/knows"];

export async function openLoggedVerifies(): Promise<{
  services: ReplayServices;
  legs: ReplayableLeg[];
}> {
  const legs: ReplayableLeg[] = [];
  const log = { admit: () => true, record: (entry: never) => void legs.push(legOf(entry)) };
  const { bureau, engine } = openTable(log);
  for (const agent_id of AGENTS) {
    for (const tool_level of TOOL_LEVELS) {
      const request = { agent_id, action: "order.place", tool_level, context: {} };
      const requestId = `${agent_id} ${tool_level}`;
      await bureau.verify(request, { requestId, principal: principalOf("acme") });
    }
  }
  return { services: { engine, policies: defaultPolicySource }, legs };
}

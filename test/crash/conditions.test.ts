// Conditions and stops under kill -9 right behind the answer, in the whole service: what was answered holds after the
// next start, and what was lifted does not.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { endAll } from "../cli/_process.ts";
import { type CrashServer, startServer } from "./server.ts";

const root = mkdtempSync(join(tmpdir(), "conditions-crash-"));
const dataDir = join(root, "data");
const ROUNDS = 5;

afterAll(async () => {
  await endAll();
  rmSync(root, { recursive: true, force: true });
});

const serve = () => startServer(dataDir, { environment: { TRUSTRANK_HTTP_THREADS: "2" } });

async function decide(server: CrashServer, agent: string): Promise<unknown[]> {
  const request = { agent_id: agent, action: "order.place", tool_level: "L0", context: {} };
  const { body } = await server.post("/v1/trust/verify", JSON.stringify(request));
  const { policy_action: action } = body as { policy_action: Record<string, unknown> };
  return [action["verdict"], action["log_reason"]];
}

it("what was answered before a kill holds after it", async () => {
  let server = await serve();
  const agents = Array.from({ length: ROUNDS }, (_, round) => `agent://crash/agent-${round}`);
  for (const [round, agent] of agents.entries()) {
    const isStop = round === ROUNDS - 1;
    const reason = { code: "fraud", text: `round ${round}` };
    const path = isStop ? "/v1/stop" : `/v1/agents/${encodeURIComponent(agent)}/condition`;
    const body = isStop ? { reason } : { state: "suspended", reason };
    const { status } = await server.put(path, JSON.stringify(body));
    await server.kill();
    expect(status).toBe(200);
    server = await serve();
    for (const earlier of agents.slice(0, isStop ? ROUNDS - 1 : round + 1))
      expect(await decide(server, earlier)).toEqual(["BLOCK", "SUSPENDED"]);
    const other = await decide(server, "agent://crash/other");
    if (isStop) expect(other).toEqual(["BLOCK", "STOPPED"]);
    else expect(other[0]).toBe("ALLOW");
  }
  await server.kill();
});

// Denials of a service that is killed: on disk some milliseconds after they were given, long before
// they are rows, and found again by the next start.
import * as fs from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startStore } from "../../../src/store/client.ts";
import { endAll, startCommand } from "../../cli/_process.ts";
import { LIMITS } from "../_fixtures.ts";

const dataDir = fs.mkdtempSync("/tmp/trustrank-denials-");
const ADMIN = "an-admin-secret-of-the-operator-0123456789";

afterAll(async () => {
  await endAll();
  fs.rmSync(dataDir, { recursive: true, force: true });
});

const spooled = (): string => {
  const directory = join(dataDir, "store-kept");
  const names = fs.existsSync(directory) ? fs.readdirSync(directory) : [];
  return names.map((name) => fs.readFileSync(join(directory, name), "latin1")).join("");
};

test("every denial that was given is there after SIGKILL", async () => {
  const flags = ["--port", "0", "--json", "--no-sample", "--data-dir", dataDir];
  const server = startCommand(["serve", ...flags], { TRUSTRANK_ADMIN_KEY: ADMIN });
  const { url } = JSON.parse(await server.firstLine) as { url: string };
  const ids: string[] = [];
  for (let n = 0; n < 30; n++) {
    const answer = await fetch(`${url}/v1/trust/verify`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${ADMIN}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        agent_id: "agent://test/refuse",
        action: "payments.wire",
        tool_level: "L3",
        context: {},
      }),
    });
    const denied = (await answer.json()) as { request_id: string };
    expect(denied).toMatchObject({ policy_action: { verdict: "BLOCK" } });
    ids.push(denied.request_id);
  }
  // Whether it comes from the spool or is a row by then: the disk has it before the end.
  const last = ids.at(-1) as string;
  const isKept = async () => spooled().includes(last) || server.process.exitCode !== null;
  await expect.poll(isKept, { interval: 5 }).toBe(true);
  server.process.kill("SIGKILL");
  expect((await server.ended).signal).toBe("SIGKILL");

  const store = await startStore({ dataDir, isStandalone: true });
  const { rows } = await store.query(
    "SELECT request_id FROM decisions WHERE effective = 'deny' ORDER BY request_id",
    LIMITS,
  );
  // Two of one millisecond have no order but that of their ids.
  expect(rows.map(([id]) => id)).toEqual(ids.toSorted());
  await store.close();
});

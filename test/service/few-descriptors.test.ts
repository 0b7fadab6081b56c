// The service with few descriptors, and more strangers than it has: it goes on taking outcomes.
import * as fs from "node:fs";
import { Agent, request } from "node:http";
import net from "node:net";
import { afterAll, expect, test } from "vitest";
import { endAll, startCommand } from "../cli/_process.ts";

const ADMIN = "an-admin-secret-of-the-operator-0123456789";
const LIMIT = 256;
const STRANGERS = 300;
const OUTCOME = {
  subject: "agent://shop/a",
  reporter: "agent://acme/r",
  outcome: 1,
  stakes: 5,
  grade: "counterparty",
};

const dataDir = fs.mkdtempSync("/tmp/trustrank-descriptors-");
const sockets: net.Socket[] = [];
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await endAll();
  fs.rmSync(dataDir, { recursive: true, force: true });
});

function ask(url: string, agent: Agent, body?: object): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
  const method = body === undefined ? "GET" : "POST";
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method, headers }, (reply) => {
      let text = "";
      reply.on("data", (piece) => (text += piece));
      reply.on("end", () => resolve({ status: reply.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

test.each(["uws", "node"])("strangers do not end a service on %s", async (adapter) => {
  const limited = ["sh", "-c", `ulimit -n ${LIMIT}; exec "$0" "$@"`];
  const flags = ["--port", "0", "--json", "--no-sample", "--data-dir", `${dataDir}/${adapter}`];
  const environment = { TRUSTRANK_ADMIN_KEY: ADMIN, TRUSTRANK_HTTP_ADAPTER: adapter };
  const server = startCommand(["serve", ...flags], environment, limited);
  const { url } = JSON.parse(await server.firstLine) as { url: string };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect((await ask(`${url}/livez`, agent)).status).toBeLessThan(500);
  let closed = 0;
  for (let count = 0; count < STRANGERS; count++) {
    const socket = net.connect(Number(new URL(url).port), "127.0.0.1").resume();
    socket.on("error", () => undefined).on("close", () => (closed += 1));
    sockets.push(socket);
  }
  await expect.poll(() => closed).toBeGreaterThan(STRANGERS - LIMIT);
  // Over the connection that was there; this opens files for the first time.
  const recorded = await ask(`${url}/v1/outcomes`, agent, OUTCOME);
  expect([recorded.status, recorded.text]).toEqual([201, expect.any(String)]);
  for (const socket of sockets.splice(0)) socket.destroy();
  const scrape = async () => (await ask(`${url}/metrics`, agent).catch(() => ({ text: "" }))).text;
  await expect.poll(scrape).toMatch(/^trustrank_http_connections [12]$/m);
  expect(await scrape()).toMatch(
    /^trustrank_http_connections_(refused|closed_idle)_total [1-9]\d+$/m,
  );
  agent.destroy();
  server.process.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
});

// `serve --grpc-port` beside two HTTP threads, as a process: the golden table of decisions through
// Envoy's door, the decision log behind it, and the end while Envoy is connected.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect, type Envoy } from "../http/grpc/_envoy.ts";
import { endAll, type Started, startCommand } from "./_process.ts";

const KEY = "grpc-suite-admin-key-0123456789abcdefghijk";
const folder = mkdtempSync(join(tmpdir(), "trustrank-grpc-"));
const golden = readFileSync(new URL("../tables/gateway-decisions.txt", import.meta.url), "utf8")
  .split("\n")
  .map((line) => line.trim().split(/\s+/))
  .filter((cells) => /^L[0-3]$/.test(cells[1] ?? ""));

let started: Started;
let facts: { url: string; grpc_port: number };
let envoy: Envoy;
beforeAll(async () => {
  const flags = ["--port", "0", "--grpc-port", "0", "--http-threads", "2", "--json"];
  started = startCommand(["serve", ...flags, "--data-dir", join(folder, "data")], {
    TRUSTRANK_ADMIN_KEY: KEY,
  });
  facts = JSON.parse(await started.firstLine);
  envoy = connect(facts.grpc_port);
});
afterAll(async () => {
  envoy?.close();
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (agent: string, tool_level: string) =>
  envoy.check(
    {
      attributes: {
        source: { principal: `spiffe://test/${agent}` },
        request: { http: { method: "POST" } },
        context_extensions: { tool_level, action: "payments.transfer", stakes: "10" },
      },
    },
    { metadata: { authorization: `Bearer ${KEY}` } },
  );
const get = async (path: string) =>
  (await fetch(facts.url + path, { headers: { Authorization: `Bearer ${KEY}` } })).text();

it("decides as the golden table says", async () => {
  expect(golden).toHaveLength(20);
  for (const [agent = "", level = "", verdict, label, effect] of golden) {
    const { callCode, httpStatus, metadata } = await ask(agent, level);
    expect([agent, level, callCode, httpStatus]).toEqual([
      agent,
      level,
      0,
      effect === "allow" ? 200 : 403,
    ]);
    expect(metadata).toMatchObject({ verdict, reason: label, effective: effect });
  }
});

it("logs each decision, and counts it with the gateway's", async () => {
  const { metadata, headers } = await ask("refuse", "L3");
  const id = String(metadata["request_id"]);
  expect(headers["x-trust-request-id"]).toBe(id);
  const logged = JSON.parse(await get(`/v1/decisions/${id}`));
  expect(JSON.stringify(logged)).toContain("agent://test/refuse");
  expect(await get("/metrics")).toMatch(/route="gateway_authorize",status="403"} \d/);
});

it("ends in order while Envoy is connected", async () => {
  started.process.kill("SIGTERM");
  const { code, stderr } = await started.ended;
  expect([code, stderr.includes("SIGTERM: draining")]).toEqual([0, true]);
  expect((await ask("connect", "L0")).callCode).toBe(14);
});

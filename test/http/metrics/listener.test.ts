// The listener for metrics alone: no key, one path, both formats, and nothing else.
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  isLoopbackHost,
  type MetricsListener,
  openMetricsListener,
} from "../../../src/http/metrics/listener.ts";
import { openTestServer, type TestServer } from "../_setup.ts";

let service: TestServer;
let listener: MetricsListener;
let base: string;

beforeAll(async () => {
  service = await openTestServer("node");
  const at = { host: "127.0.0.1", port: 0 };
  listener = await openMetricsListener(at, (accept) => service.server.scrape(accept));
  base = `http://127.0.0.1:${listener.port}`;
});
afterAll(async () => {
  await listener.close();
  await service.stop();
});

test("metrics without a key, as text or as OpenMetrics", async () => {
  const plain = await fetch(`${base}/metrics`);
  expect(plain.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await plain.text();
  expect(text).toContain("# TYPE trustrank_http_aborted_total counter\n");
  expect(text).toMatch(/^trustrank_agents 7$/m);
  const accept = "application/openmetrics-text; version=1.0.0,text/plain;q=0.5";
  const open = await fetch(`${base}/metrics`, { headers: { accept } });
  expect(open.headers.get("content-type")).toMatch(/^application\/openmetrics-text; version=1/);
  const openText = await open.text();
  expect(openText).toContain(
    "# TYPE trustrank_http_aborted counter\ntrustrank_http_aborted_total ",
  );
  expect(openText.endsWith("\n# EOF\n")).toBe(true);
  // Rendering one format leaves the other as it was.
  const again = await (await fetch(`${base}/metrics`)).text();
  expect(again).toMatch(/^process_cpu_seconds_total [0-9.]+$/m);
});

test("nothing but metrics", async () => {
  for (const path of ["/", "/readyz", "/metrics/", "/v1/usage"]) {
    expect((await fetch(base + path)).status).toBe(404);
  }
  expect((await fetch(`${base}/metrics`, { method: "POST" })).status).toBe(404);
  const head = await fetch(`${base}/metrics?x=1`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("a port that is taken is told", async () => {
  const at = { host: "127.0.0.1", port: listener.port };
  const second = openMetricsListener(at, (accept) => service.server.scrape(accept));
  await expect(second).rejects.toThrow(/for metrics/);
});

test("loopback is what only this machine reaches", () => {
  for (const host of ["127.0.0.1", "127.8.9.1", "::1", "localhost"]) {
    expect(isLoopbackHost(host), host).toBe(true);
  }
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.com"]) {
    expect(isLoopbackHost(host), host).toBe(false);
  }
});

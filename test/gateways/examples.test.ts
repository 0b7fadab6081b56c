// The example configurations that write their question as one address: what they ask the service for
// exists, and means what their comments say. haproxy.test.ts and configured.test.ts ask what the others
// put together.
import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startTestService } from "../client/_service.ts";

const EXAMPLES = new URL("../../examples/gateways/", import.meta.url);

let service: Service;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

const names = (await readdir(EXAMPLES)).filter((name) => !/^(apisix|haproxy|kong)\./.test(name));

it.each(names)("%s asks for what is served", async (name) => {
  const text = await readFile(new URL(name, EXAMPLES), "utf8");
  const asked = [...text.matchAll(/\/v1\/gateway\/[^\s";]*/g)].map(([target]) => target);
  expect(asked.length).toBeGreaterThan(0);
  for (const target of asked) {
    // Variables stand for a tool level; Envoy appends the original path to its prefix.
    const isPrefix = target.includes("/envoy/");
    const path = isPrefix ? `${target}/files/a?x=1` : target.replace(/[{$][\w{}]+$/, "L3");
    const headers = {
      Authorization: `Bearer ${service.apiKey}`,
      "X-Trust-Agent-Id": "agent://test/refuse",
      ...(isPrefix ? { "X-Trust-Tool-Level": "L3" } : {}),
    };
    const response = await fetch(service.baseUrl + path, { headers });
    expect([path, response.status]).toEqual([path, 403]);
    expect(response.headers.get("x-trust-effective")).toBe("deny");
  }
});

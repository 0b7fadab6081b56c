// A caller's types, made from the served document by `openapi-typescript`: they compile under the
// strictest rules, calls by them are checked, and the same calls get their answers.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import createClient from "openapi-fetch";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { call } from "../_client.ts";
import { openTestServer, type TestServer } from "../_setup.ts";
import { typesOf } from "./_generated-types.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const TSC = path.join(ROOT, "node_modules/typescript/bin/tsc");

const CALLS = `
import type createClient from "openapi-fetch";
import type { components, paths } from "./api.d.ts";

type Verdict = components["schemas"]["VerifyResponse"]["policy_action"]["verdict"];

function wordOf(verdict: Verdict): string {
  switch (verdict) {
    case "ALLOW":
      return "go";
    case "CHALLENGE":
    case "QUARANTINE":
    case "BLOCK":
      return "stop";
  }
}

type Create = typeof createClient;

export async function ask(create: Create, baseUrl: string, key: string): Promise<unknown[]> {
  const client = create<paths>({ baseUrl, headers: { Authorization: \`Bearer \${key}\` } });
  const body = { agent_id: "agent://a/b", action: "a.b", tool_level: "L2", context: {} } as const;
  const verdict = await client.POST("/v1/trust/verify", { body });
  const refused = await client.POST("/v1/handshake", {
    body: { initiator: "agent://a/b", counterparty: "agent://test/refuse", stakes: 1 },
  });
  const gateway = await client.GET("/v1/gateway/authorize", {
    params: { query: { profile: "envoy" }, header: { "X-Trust-Tool-Level": "L2" } },
  });
  const code: components["schemas"]["Problem"]["code"] | undefined =
    gateway.error !== undefined && "code" in gateway.error ? gateway.error.code : undefined;
  const status: number = gateway.response.status;
  return [
    verdict.data === undefined ? "none" : wordOf(verdict.data.policy_action.verdict),
    refused.response.status,
    status,
    code,
  ];
}

export async function mistakes(create: Create, baseUrl: string): Promise<void> {
  const client = create<paths>({ baseUrl });
  const rest = { agent_id: "agent://a/b", action: "a.b", context: {} };
  // @ts-expect-error: there is no such level.
  await client.POST("/v1/trust/verify", { body: { ...rest, tool_level: "L9" } });
  // @ts-expect-error: an agent is missing.
  await client.POST("/v1/check", { body: { stakes: 1 } });
  // @ts-expect-error: there is no such path.
  await client.GET("/v1/nowhere");
  // @ts-expect-error: there is no such gateway.
  await client.GET("/v1/gateway/authorize", { params: { query: { profile: "other" } } });
  const { data } = await client.POST("/v1/check", { body: { subject: "agent://a/b", stakes: 1 } });
  // @ts-expect-error: there is no such decision.
  data?.decision === "maybe";
}
`;

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noImplicitReturns: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    module: "preserve",
    target: "es2023",
    lib: ["es2023", "dom"],
    types: [],
  },
  include: ["*.ts"],
};

let service: TestServer;
let folder: string;
beforeAll(async () => {
  service = await openTestServer("node");
  // Within the tree, so that packages are found from it.
  await mkdir(path.join(ROOT, "build"), { recursive: true });
  folder = await mkdtemp(path.join(ROOT, "build/openapi-types-"));
  const document = await call(service, "/openapi.json", { key: null });
  await writeFile(path.join(folder, "api.d.ts"), await typesOf(document.text));
  await writeFile(path.join(folder, "calls.ts"), CALLS);
  await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
}, WAIT_MS_MAX);
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

describe("types made from the document", () => {
  it("compile, and find the mistakes of a caller", { timeout: WAIT_MS_MAX }, async () => {
    const compiled = promisify(execFile)(process.execPath, [TSC, "-p", folder]).catch(
      ({ stdout }: { stdout: string }) => ({ stdout }),
    );
    expect((await compiled).stdout).toBe("");
  });

  it("are what the service answers", { timeout: WAIT_MS_MAX }, async () => {
    const file = path.join(folder, "calls.ts");
    const { ask } = (await import(/* @vite-ignore */ file)) as {
      ask: (create: typeof createClient, baseUrl: string, key: string) => Promise<unknown[]>;
    };
    const [word, refused, gateway, code] = await ask(createClient, service.base, service.key);
    expect(["go", "stop"]).toContain(word);
    // No agent is named for the gateway.
    expect([refused, gateway, code]).toEqual([403, 400, "invalid_request"]);
  });
});

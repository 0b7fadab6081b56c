// Security signals over HTTP, as a transmitter sends them: tokens made by jose in a program of its own, an issuer pinned in
// the operator's file, and what verify answers then; also after SIGKILL.
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { endAll, startCommand, type Started } from "./_process.ts";

const KEY = "an-admin-secret-of-the-operator-0123456789";
const ISSUER = "https://idp.example";
const AUDIENCE = "https://trust.example/v1/signals";
const RISC = "https://schemas.openid.net/secevent/risc/event-type/";
const CAEP = "https://schemas.openid.net/secevent/caep/event-type/";
const AGENT = "agent://acme/payer";

let directory: string;
let server: Started;
let url: string;
let signer: ReturnType<typeof spawn>;
let lines: AsyncIterator<string>;
/** Keys of two tenants that deliver signals, and one that asks. */
const keys: Record<string, string> = {};

async function start(): Promise<void> {
  const parameters = [
    "serve",
    "--port",
    "0",
    "--data-dir",
    `${directory}/data`,
    "--json",
    "--no-sample",
  ];
  server = startCommand([...parameters, "--http-threads", "2"], {
    TRUSTRANK_ADMIN_KEY: KEY,
    TRUSTRANK_SIGNALS_FILE: `${directory}/signals.json`,
  });
  url = (JSON.parse(await server.firstLine) as { url: string }).url;
}

async function ask(path: string, body: unknown, key = KEY, method = "POST") {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as never;
}

const readLine = async () => (await lines.next()).value as string;

async function sign(claims: object, header?: object): Promise<string> {
  signer.stdin!.write(`${JSON.stringify({ claims, header })}\n`);
  return readLine();
}

let count = 0;
function claimsOf(type: string, event: object = {}, more: object = {}) {
  count += 1;
  return {
    iss: ISSUER,
    aud: AUDIENCE,
    jti: `set-${count}`,
    iat: Math.floor(Date.now() / 1000),
    sub_id: { format: "uri", uri: AGENT },
    events: { [type]: event },
    ...more,
  };
}

/** Status, and RFC 8935's code. */
async function push(token: string, key = keys["acme"]!, type = "application/secevent+jwt") {
  const headers = { authorization: `Bearer ${key}`, "content-type": type };
  const response = await fetch(`${url}/v1/signals`, { method: "POST", headers, body: token });
  const text = await response.text();
  return [response.status, text === "" ? "" : (JSON.parse(text) as { err?: string }).err];
}

async function verdict(): Promise<string> {
  const request = { agent_id: AGENT, action: "order.place", tool_level: "L0", context: {} };
  const answer = await ask("/v1/trust/verify", request, keys["asker"]);
  const { verdict: said, log_reason: why } = answer["policy_action"] as Record<string, string>;
  return `${said} ${why}`;
}

beforeAll(async () => {
  directory = fs.mkdtempSync("/tmp/trustrank-signals-");
  const program = fileURLToPath(new URL("_make-signals.ts", import.meta.url));
  signer = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program]);
  lines = createInterface({ input: signer.stdout! })[Symbol.asyncIterator]();
  const key = JSON.parse(await readLine()) as object;
  const named = { issuer: ISSUER, audience: AUDIENCE, tenant: "acme" };
  const issuers = [{ ...named, jwks: { keys: [key] }, namespaces: ["agent://acme/*"] }];
  fs.writeFileSync(`${directory}/signals.json`, JSON.stringify(issuers));
  await start();
  for (const [name, tenant, scope] of [
    ["acme", "acme", "signals:write"],
    ["globex", "globex", "signals:write"],
    ["asker", "acme", "score:read"],
    ["lifter", "acme", "conditions:restrict"],
  ] as const) {
    const made = await ask("/v1/keys", { tenant, scopes: [scope], label: name });
    keys[name] = made["key"];
  }
});

afterAll(async () => {
  signer.kill();
  await endAll();
  fs.rmSync(directory, { recursive: true });
});

it("refuses what is foreign, mistyped, malformed or for others, each by its code", async () => {
  const disabled = `${RISC}account-disabled`;
  const refusals: [string, string, string?][] = [
    ["not.a.token", "invalid_request"],
    [await sign(claimsOf(disabled, {}, { iss: "https://other.example" })), "invalid_issuer"],
    [await sign(claimsOf(disabled, {}, { aud: "https://other.example" })), "invalid_audience"],
    [await sign(claimsOf(disabled), { typ: "JWT" }), "invalid_request"],
    [await sign(claimsOf(disabled), { kid: "another" }), "invalid_key"],
    [`${(await sign(claimsOf(disabled))).slice(0, -8)}AAAAAAAA`, "invalid_key"],
    [
      await sign(claimsOf(disabled, {}, { exp: Math.floor(Date.now() / 1000) + 60 })),
      "invalid_request",
    ],
    [await sign(claimsOf(disabled, {}, { sub: AGENT })), "invalid_request"],
    [
      await sign(claimsOf(disabled, {}, { sub_id: { format: "uri", uri: "agent://globex/a" } })),
      "access_denied",
    ],
    // The issuer is pinned by another tenant.
    [await sign(claimsOf(disabled)), "invalid_issuer", keys["globex"]!],
  ];
  for (const [token, code, key] of refusals) expect(await push(token, key)).toEqual([400, code]);
  const [status] = await push(await sign(claimsOf(disabled)), keys["acme"], "application/json");
  expect(status).toBe(415);
  expect((await push(await sign(claimsOf(disabled)), keys["asker"]))[0]).toBe(403);
  expect(await verdict()).not.toContain("SUSPENDED");
});

it("suspends by a revoked credential, once, on every thread and over SIGKILL", async () => {
  const token = await sign(claimsOf(`${CAEP}credential-change`, { change_type: "revoke" }));
  expect(await push(token)).toEqual([202, ""]);
  server.process.kill("SIGKILL");
  await server.ended;
  await start();
  for (let n = 0; n < 8; n += 1) expect(await verdict()).toBe("BLOCK SUSPENDED");
  // An operator lifts it: the same token does not bring it back, a later one does.
  await ask(
    `/v1/agents/${encodeURIComponent(AGENT)}/condition`,
    undefined,
    keys["lifter"],
    "DELETE",
  );
  expect(await push(token)).toEqual([400, "invalid_request"]);
  expect(await verdict()).not.toContain("SUSPENDED");
  const later = { event_timestamp: Date.now() / 1000 };
  const iat = Math.ceil(Date.now() / 1000) + 1;
  expect(await push(await sign(claimsOf(`${RISC}account-disabled`, later, { iat })))).toEqual([
    202,
    "",
  ]);
  expect(await verdict()).toBe("BLOCK SUSPENDED");
});

it("lifts only what a signal has set", async () => {
  const iat = () => Math.ceil(Date.now() / 1000) + 2;
  const enabled = () => sign(claimsOf(`${RISC}account-enabled`, {}, { iat: iat() }));
  const session = await sign(claimsOf(`${CAEP}session-revoked`));
  expect(await push(session)).toEqual([202, ""]);
  expect(await verdict()).toBe("BLOCK SUSPENDED");
  expect(await push(await enabled())).toEqual([202, ""]);
  expect(await verdict()).not.toContain("SUSPENDED");
  const byOperator = { state: "suspended", scope: "bureau", reason: { code: "fraud", text: "x" } };
  await ask(`/v1/agents/${encodeURIComponent(AGENT)}/condition`, byOperator, KEY, "PUT");
  expect(await push(await enabled())).toEqual([202, ""]);
  expect(await verdict()).toBe("BLOCK SUSPENDED");
});

// Cerbos as a peer: an authorization service in Go, asked whether an agent of this score may do this. It
// keeps no scores and no log here; what it does is evaluate one rule. Installed on demand into build/.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const VERSION = "0.51.0";
/** Package and program. */
const NAME = `cerbos-linux-${process.arch}`;
const PEERS = fileURLToPath(new URL("../../build/peers", import.meta.url));
const START_MS_MAX = 20_000;

const POLICY = `apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: payment
  version: default
  rules:
    - actions: ["transfer"]
      effect: EFFECT_ALLOW
      roles: ["agent"]
      condition:
        match:
          expr: request.principal.attr.score >= 70
`;

/** The same question as the service's, as Cerbos takes it. */
export const CERBOS_BODY = JSON.stringify({
  requestId: "r",
  principal: { id: "agent://acme/ledger-sync", roles: ["agent"], attr: { score: 77 } },
  resources: [{ actions: ["transfer"], resource: { kind: "payment", id: "1" } }],
});
export const CERBOS_ROUTE = "/api/check/resources";

export interface Peer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts it, logs off. Installs the npm package at its first start, which asks the registry. */
export async function startCerbos(): Promise<Peer> {
  const command = path.join(PEERS, "node_modules/@cerbos", NAME, NAME);
  if (!existsSync(command)) {
    const flags = ["--prefix", PEERS, "--ignore-scripts", "--no-audit", "--no-fund"];
    execFileSync("npm", ["install", ...flags, `cerbos@${VERSION}`], { stdio: ["ignore", 2, 2] });
  }
  const directory = mkdtempSync(path.join(tmpdir(), "trustrank-cerbos-"));
  writeFileSync(path.join(directory, "payment.yaml"), POLICY);
  const [port, grpcPort] = [await freePort(), await freePort()];
  const settings = [
    `server.httpListenAddr=127.0.0.1:${port}`,
    `server.grpcListenAddr=127.0.0.1:${grpcPort}`,
    `storage.disk.directory=${directory}`,
    "telemetry.disabled=true",
  ].map((setting) => `--set=${setting}`);
  const child = spawn(command, ["server", "--log-level=error", ...settings], { stdio: "ignore" });
  child.on("error", (error) => {
    throw error;
  });
  const url = `http://127.0.0.1:${port}`;
  await untilHealthy(`${url}/_cerbos/health`);
  return {
    url,
    pid: child.pid!,
    async stop() {
      const gone = once(child, "exit");
      child.kill("SIGTERM");
      await gone;
      rmSync(directory, { recursive: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function untilHealthy(url: string): Promise<void> {
  const until = Date.now() + START_MS_MAX;
  while (Date.now() < until) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("Cerbos did not start");
}

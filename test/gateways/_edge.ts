// Gateway program in front of a real upstream, with the example configuration of examples/gateways. It asks
// the service itself (_nodes.ts), or fault proxies before it. Requests that reach the upstream are recorded there.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Fault, FaultProxy } from "../../src/client/conformance/fault-proxy.ts";
import type { Observed, Subject } from "../../src/client/conformance/suite.ts";
import type { ToolLevel } from "../../src/contract/vocabulary.ts";
import { startTestService } from "../client/_service.ts";
import { stretched } from "../_patience.ts";
import { freePort } from "../_ports.ts";

export const PATHS: Readonly<Record<ToolLevel, string>> = {
  L0: "/public/a",
  L1: "/info/a",
  L2: "/edit/a",
  L3: "/pay",
};

/**
 * Time limits of the gateways here, instead of the 100 ms that their examples say: what they do
 * when a limit passes is tested, and a busy machine must not pass it for them.
 */
const BUDGET_MS = stretched(300);
/** Delays within the limit stay well below the second that HAProxy's health check has: it is delayed, too. */
const WITHIN_MS = Math.min(stretched(80), 500);
export const TIMES = { budgetMs: BUDGET_MS, marginMs: BUDGET_MS - WITHIN_MS };
/** Those of the examples, in their order. */
const LIMITS: Readonly<Record<string, string>> = {
  "nginx.conf": "50ms, 50ms, 50ms, 100ms",
  Caddyfile: "50ms, 50ms",
  "haproxy.cfg": "50ms, 50ms, 50ms",
};
/** A limit in an example: of the whole question 100 ms, of one of two nodes half of them. */
const LIMIT = /\b(100|50)ms\b/g;

/** The gateway programs that run here; each is a Debian package of that name. */
export type Program = "nginx" | "caddy" | "haproxy";

/** Debian keeps nginx where only root's search path leads. */
const PATH = `${process.env["PATH"]}:/usr/sbin`;

const EXAMPLES = new URL("../../examples/gateways/", import.meta.url);

export interface Reached {
  method: string;
  url: string;
  headers: http.IncomingHttpHeaders;
}

/** A gateway program that runs, in front of an application of ours. */
export interface Gateway {
  readonly base: string;
  /** Requests that reached the application. */
  readonly reached: Reached[];
  /** Status the application answers with, or "reset" to break the connection. */
  app: { answer: number | "reset" };
  ask(pathname: string, agent: string | undefined, init?: RequestInit): Promise<Response>;
  /** What an agent with a good score gets at a level. */
  observe(toolLevel: ToolLevel): Promise<Observed>;
  readFile(name: string): Promise<string>;
  stop(): Promise<void>;
}

export interface Edge extends Gateway {
  /** In front of both nodes. */
  readonly proxy: { set(fault: Fault): Promise<void> };
  /** In front of one each: the first and the second of the example. */
  readonly nodes: readonly FaultProxy[];
  readonly subject: Subject;
}

/** Where a gateway asks, with which key, and with which example. */
export interface GatewayOptions {
  /** Ports of the first and the second node of the example, on loopback. */
  readonly ports: readonly [number, number];
  readonly apiKey: string;
  /** Of the example's text. */
  readonly change?: Change;
  /** In place of the 100 ms of the example. */
  readonly budgetMs?: number;
}

/** Starts `program` with its example, as `change` leaves it, behind fault proxies; two nodes, which are one service. */
export async function openEdge(program: Program, change: Change = same): Promise<Edge> {
  const service = await startTestService();
  const nodes = [await FaultProxy.open(service.baseUrl), await FaultProxy.open(service.baseUrl)];
  const setFault = async (fault: Fault) => {
    await Promise.all(nodes.map((node) => node.set(fault)));
  };
  const [first, second] = nodes.map(({ port }) => port) as [number, number];
  const options = { ports: [first, second] as const, apiKey: service.apiKey, change };
  const gateway = await startGateway(program, options);
  return {
    ...gateway,
    proxy: { set: setFault },
    nodes,
    subject: { setFault, request: (toolLevel) => gateway.observe(toolLevel) },
    async stop() {
      await gateway.stop();
      await Promise.all(nodes.map((node) => node.close()));
      await service.stop();
    },
  };
}

/** Starts `program` with its example in front of an application. */
export async function startGateway(program: Program, options: GatewayOptions): Promise<Gateway> {
  const reached: Reached[] = [];
  const app: Gateway["app"] = { answer: 200 };
  const upstream = http.createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    reached.push({ method, url, headers });
    if (app.answer === "reset") request.socket.resetAndDestroy();
    else response.writeHead(app.answer).end("application");
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const appPort = (upstream.address() as AddressInfo).port;
  const directory = await mkdtemp(path.join(tmpdir(), `trustrank-${program}-`));
  const port = await freePort();
  const [trustrank, second] = options.ports;
  const ports = { app: appPort, trustrank, second, listen: port };
  const child = await STARTS[program](directory, ports, options);
  const base = `http://127.0.0.1:${port}`;
  await untilListening(port, child, directory);
  const ask: Gateway["ask"] = (pathname, agent, init = {}) => {
    const token = agent === undefined ? {} : { Authorization: `Bearer token-of-${agent}` };
    const headers = { ...token, ...(init.headers as Record<string, string>) };
    return fetch(base + pathname, { ...init, headers });
  };
  return {
    base,
    reached,
    app,
    ask,
    async observe(toolLevel) {
      const before = reached.length;
      const response = await ask(PATHS[toolLevel], "connect");
      await response.arrayBuffer();
      return {
        status: response.status,
        retryAfter: response.headers.get("retry-after"),
        degraded: response.headers.get("x-trust-degraded"),
        reachedTool: reached.length > before,
      };
    },
    readFile: (name) => readFile(path.join(directory, name), "utf8"),
    async stop() {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await exited;
      upstream.closeAllConnections();
      upstream.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface Ports {
  app: number;
  trustrank: number;
  second: number;
  listen: number;
}

/** Of an example's text. */
export type Change = (example: string) => string;
const same: Change = (example) => example;

type Start = (directory: string, ports: Ports, options: GatewayOptions) => Promise<ChildProcess>;

const STARTS: Readonly<Record<Program, Start>> = {
  nginx: startNginx,
  caddy: startCaddy,
  haproxy: startHaproxy,
};

async function startNginx(directory: string, ports: Ports, options: GatewayOptions) {
  const config = (await exampleOf("nginx.conf", options))
    .replace("127.0.0.1:3000", `127.0.0.1:${ports.app}`)
    .replace("127.0.0.1:8080", `127.0.0.1:${ports.trustrank}`)
    .replace("127.0.0.1:8081", `127.0.0.1:${ports.second}`)
    .replace("127.0.0.1:8000", `127.0.0.1:${ports.listen}`)
    .replace("YOUR_TRUSTRANK_KEY", options.apiKey);
  await writeFile(path.join(directory, "nginx.conf"), config);
  const args = ["-p", `${directory}/`, "-c", "nginx.conf", "-e", "error.log"];
  return spawn("nginx", [...args, "-g", "daemon off;"], { stdio: "pipe", env: { PATH } });
}

async function startCaddy(directory: string, ports: Ports, options: GatewayOptions) {
  const config = path.join(directory, "Caddyfile");
  await writeFile(config, await exampleOf("Caddyfile", options));
  const args = ["run", "--config", config, "--adapter", "caddyfile"];
  const env = { HOME: directory, ...variablesOf(ports, options) };
  return spawn("caddy", args, { stdio: "pipe", env });
}

/** Its log of requests, which goes to the standard output, becomes `trust.log`. */
async function startHaproxy(directory: string, ports: Ports, options: GatewayOptions) {
  const config = path.join(directory, "haproxy.cfg");
  await writeFile(config, await exampleOf("haproxy.cfg", options));
  const log = await open(path.join(directory, "trust.log"), "w");
  const env = {
    TRUSTRANK_ASK: `unix@${path.join(directory, "ask.sock")}`,
    TRUSTRANK_LUA: fileURLToPath(new URL("haproxy.lua", EXAMPLES)),
    ...variablesOf(ports, options),
  };
  const stdio = ["ignore", log.fd, "pipe"] as const;
  const child = spawn("haproxy", ["-db", "-f", config], { stdio: [...stdio], env });
  await log.close();
  return child;
}

/** The variables of the examples that take such. */
function variablesOf(ports: Ports, { apiKey }: GatewayOptions): NodeJS.ProcessEnv {
  return {
    PATH,
    LISTEN: `127.0.0.1:${ports.listen}`,
    TRUSTRANK: `127.0.0.1:${ports.trustrank}`,
    TRUSTRANK_2: `127.0.0.1:${ports.second}`,
    APP: `127.0.0.1:${ports.app}`,
    TRUSTRANK_KEY: apiKey,
  };
}

/** The line of an example that names its newcomer, in either order. */
const NEWCOMER = /^.*newcomer.*newcomer.*$/m;

/** The line, and one for a caller whose name is no agent's. */
function addMistakenName(line: string): string {
  const mistaken = line
    .replace("token-of-newcomer", "token-of-mistaken")
    .replace("agent://acme/newcomer", "agent://acme/../newcomer");
  return `${line}\n${mistaken}`;
}

/** An example with other limits and a mistaken name; throws when it has no limits, or others than it should. */
async function exampleOf(name: string, options: GatewayOptions): Promise<string> {
  const { change = same, budgetMs = TIMES.budgetMs } = options;
  const text = await readFile(new URL(name, EXAMPLES), "utf8");
  const limits = (text.match(/\b\d+ms\b(?=;?$)/gm) ?? []).join(", ");
  const expected = LIMITS[name];
  if (limits !== expected) throw new Error(`${name} has the limits ${limits}`);
  return change(text)
    .replace(NEWCOMER, addMistakenName)
    .replaceAll(LIMIT, (_, ms: string) => `${Math.round((budgetMs * Number(ms)) / 100)}ms`);
}

async function untilListening(port: number, child: ChildProcess, where: string): Promise<void> {
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  child.stdout?.resume();
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (child.exitCode !== null) throw new Error(`ended early in ${where}: ${said}`);
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = net.connect(port, "127.0.0.1");
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
      socket.once("close", () => socket.destroy());
      setTimeout(() => socket.destroy(), 500).unref();
    });
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`does not listen: ${said}`);
}

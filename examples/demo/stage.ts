// Stage of the demo: the real service in a process of its own on a temporary data directory, a toy application that
// takes payments, and a gateway in front of it. All ports are free ones of loopback; `close` removes everything.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { protectRoute, TrustGateway, TrustRankClient } from "@trustrank/client";

const SERVICE = fileURLToPath(new URL("../../src/cli/trustrank.ts", import.meta.url));
/** Longer than the service takes to end in order. */
const END_MS_MAX = 15_000;

/** What `trustrank serve --json` prints once it listens. */
interface StartFacts {
  readonly url: string;
  readonly sample: number;
  readonly agents: number;
  readonly admin_key: string;
  readonly console_link: string;
}

export interface Stage {
  readonly service: StartFacts;
  /** With the admin key: a real application has a key of its own. */
  readonly client: TrustRankClient;
  /** Sends a payment to the application, through the gateway, as an agent does. */
  pay(agent: string, amount: number): Promise<Response>;
  /** Amounts that reached the application. */
  readonly payments: readonly number[];
  /** Calls a route of the service; the parsed reply. Rejects on a status of 400 or above. */
  call<Reply>(method: "GET" | "POST", route: string, body?: unknown): Promise<Reply>;
  close(): Promise<void>;
}

/** Starts all of it. Rejects, with everything closed again, where a part does not start or `signal` aborts. */
export async function openStage(signal: AbortSignal): Promise<Stage> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "trustrank-demo-"));
  const child = startService(dataDir);
  const servers: http.Server[] = [];
  const close = async () => {
    for (const server of servers) server.close().closeAllConnections();
    await endService(child);
    // A process of the service's own may write for a moment longer.
    await rm(dataDir, { recursive: true, force: true, maxRetries: 20 });
  };
  try {
    const service = await readStartFacts(child, signal);
    const client = new TrustRankClient({
      baseUrl: service.url,
      apiKey: service.admin_key,
      timeoutMs: 2000,
    });
    const payments: number[] = [];
    const application = await listen(servers, (body) => {
      payments.push(body.amount);
      return Promise.resolve(Response.json({ paid: body.amount }));
    });
    const gateway = await listen(servers, protectApplication(client, application));
    return {
      service,
      client,
      payments,
      pay: (agent, amount) => send(gateway, { agent, amount }),
      call: (method, route, body) => callService(service, method, route, body),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Payment {
  readonly agent: string;
  readonly amount: number;
}

/** The gateway: asks for a verdict on each payment, and forwards what may pass. */
function protectApplication(client: TrustRankClient, application: string) {
  // A real gateway keeps verdicts for minutes; here each one shall be seen to move.
  const gateway = new TrustGateway({ client, cache: { ttlMs: 1 } });
  return (payment: Payment) =>
    protectRoute(() => send(application, payment), {
      gateway,
      toolLevel: "L2",
      action: "payments.send",
      // A real gateway takes it from a verified credential, never from the body.
      agentId: () => payment.agent,
      stakes: () => payment.amount,
    })(new Request(application));
}

const send = (address: string, payment: Payment) =>
  fetch(address, { method: "POST", body: JSON.stringify(payment) });

async function listen(
  servers: http.Server[],
  answer: (payment: Payment) => Response | Promise<Response>,
): Promise<string> {
  const handle = async (request: http.IncomingMessage, reply: http.ServerResponse) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const response = await answer(JSON.parse(Buffer.concat(pieces).toString()) as Payment);
    reply.writeHead(response.status, Object.fromEntries(response.headers));
    reply.end(await response.text());
  };
  const server = http.createServer((request, reply) => void handle(request, reply));
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function startService(dataDir: string): ChildProcess {
  // Settings in the environment of this program are those of another service.
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("TRUSTRANK_"));
  return spawn(
    process.execPath,
    [
      "--disable-warning=ExperimentalWarning",
      SERVICE,
      "serve",
      "--json",
      "--port",
      "0",
      "--data-dir",
      dataDir,
    ],
    {
      // Nothing is in front of it: it need not wait for a balancer, nor shed load on a busy machine.
      env: { ...Object.fromEntries(own), TRUSTRANK_DRAIN_MS: "0", TRUSTRANK_QUEUE_MS_MAX: "0" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
}

async function readStartFacts(child: ChildProcess, signal: AbortSignal): Promise<StartFacts> {
  let log = "";
  child.stderr!.on("data", (piece) => (log += String(piece)));
  const lines = createInterface({ input: child.stdout! });
  const ended = once(child, "close").then(() => {
    throw new Error(`the service did not start:\n${log}`);
  });
  const [line] = (await Promise.race([once(lines, "line", { signal }), ended])) as [string];
  ended.catch(() => undefined);
  return JSON.parse(line) as StartFacts;
}

async function endService(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const timer = setTimeout(() => child.kill("SIGKILL"), END_MS_MAX);
  child.kill("SIGTERM");
  await once(child, "close");
  clearTimeout(timer);
}

async function callService<Reply>(
  { url, admin_key }: StartFacts,
  method: string,
  route: string,
  body: unknown,
): Promise<Reply> {
  const response = await fetch(url + route, {
    method,
    headers: { Authorization: `Bearer ${admin_key}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`);
  return JSON.parse(text) as Reply;
}

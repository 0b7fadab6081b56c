// Nodes for the gateways' tests: `trustrank serve` in processes of their own, which gateway programs ask without
// anything between. A node hangs by SIGSTOP and is gone by SIGKILL.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Ended, type Started, startCommand } from "../cli/_process.ts";
import { freePorts } from "../_ports.ts";
import { type Change, type Gateway, type Program, startGateway } from "./_edge.ts";

const ADMIN_KEY = "an-admin-secret-of-the-operator-0123456789";

/** The line of an example that knows a newcomer by its token. */
const NEWCOMER = /^.*token-of-newcomer.*$/m;
/** So many that a hash over them leaves no node out. */
export const NEWCOMERS = Array.from({ length: 24 }, (_, at) => `newcomer-${at}`);
export const addNewcomers = (example: string) =>
  example.replace(NEWCOMER, (line) =>
    [line, ...NEWCOMERS.map((name) => line.replaceAll("newcomer", name))].join("\n"),
  );

/** What four agents of the examples get at L0 to L3. */
export const VERDICTS = {
  connect: [200, 200, 200, 200],
  refuse: [200, 200, 403, 403],
  escalate: [200, 200, 403, 403],
  newcomer: [200, 200, 403, 403],
} as const;

export class ServiceNode {
  readonly port: number;
  readonly #dataDir: string;
  readonly #environment: Record<string, string>;
  #started: Started | undefined;

  constructor(port: number, dataDir: string, environment: Record<string, string>) {
    this.port = port;
    this.#dataDir = dataDir;
    this.#environment = { TRUSTRANK_ADMIN_KEY: ADMIN_KEY, TRUSTRANK_KAIZEN: "off", ...environment };
  }

  /** Resolves once it listens. */
  async start(): Promise<void> {
    const flags = ["--json", "--no-sample", "--port", `${this.port}`, "--data-dir", this.#dataDir];
    this.#started = startCommand(["serve", ...flags], this.#environment);
    await this.#started.firstLine;
  }

  freeze(): void {
    this.#started?.process.kill("SIGSTOP");
  }

  thaw(): void {
    this.#started?.process.kill("SIGCONT");
  }

  /** Resolves once the process has ended. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<Ended | undefined> {
    this.#started?.process.kill(signal);
    return this.#started?.ended;
  }

  /** Gateway requests that it has answered. */
  async countAsked(): Promise<number> {
    const headers = { Authorization: `Bearer ${ADMIN_KEY}` };
    const response = await fetch(`http://127.0.0.1:${this.port}/metrics`, { headers });
    const counts = (await response.text()).matchAll(
      /^trustrank_http_requests_total\{[^}]*route="gateway_authorize"[^}]*\} (\d+)$/gm,
    );
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }
}

/** The lines of an example for one node, changed as its comments say. */
export const ONE_NODE: Readonly<Record<Program, Change>> = {
  nginx: (example) => giveAllTime(without(example, /^ *server 127\.0\.0\.1:8081 .*\n/m)),
  caddy: (example) => {
    const alone = without(example, / \{\$TRUSTRANK_2:127\.0\.0\.1:8081\}/);
    return giveAllTime(without(alone, /^\s*lb_retries 1\n\s*lb_retry_match \{\n[^}]*\}\n/m));
  },
  haproxy: (example) => {
    const alone = without(example, /^ *server trustrank-2 .*\n/m);
    return giveAllTime(without(alone, /^ *retries 1\n/m));
  },
};

function without(example: string, part: RegExp): string {
  const rest = example.replace(part, "");
  if (rest === example) throw new Error(`the example has no ${part}`);
  return rest;
}

const giveAllTime = (example: string) => example.replaceAll(/\b50ms\b/g, "100ms");

export interface GatewayOnNodes extends Gateway {
  readonly nodes: readonly ServiceNode[];
}

export interface NodesOptions {
  readonly nodeCount: 1 | 2;
  readonly change?: Change;
  readonly environment?: Record<string, string>;
  /** In place of the 100 ms of the example. */
  readonly budgetMs?: number;
}

/** Starts nodes and `program` in front of them; nodes are services of their own with the same keys. */
export async function openOnNodes(
  program: Program,
  { nodeCount, change = (example) => example, environment = {}, budgetMs }: NodesOptions,
): Promise<GatewayOnNodes> {
  const folder = await mkdtemp(path.join(tmpdir(), "trustrank-nodes-"));
  const ports = (await freePorts(2)) as [number, number];
  const nodes = ports
    .slice(0, nodeCount)
    .map((port) => new ServiceNode(port, path.join(folder, `${port}`), environment));
  await Promise.all(nodes.map((node) => node.start()));
  const gateway = await startGateway(program, {
    ports,
    apiKey: ADMIN_KEY,
    change: (example) => change(nodeCount === 1 ? ONE_NODE[program](example) : example),
    ...(budgetMs === undefined ? {} : { budgetMs }),
  });
  return {
    ...gateway,
    nodes,
    async stop() {
      await gateway.stop();
      for (const node of nodes) node.thaw();
      await Promise.all(nodes.map((node) => node.end("SIGKILL")));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

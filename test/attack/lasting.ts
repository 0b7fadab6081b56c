// A data directory that outlives its service, for attacks that stop, kill and damage: the real service
// is started on it again and again, and all of it is removed at the end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ServerProcess, startServiceWith } from "../../bench/server-process.ts";
import { type AttackStage, delay } from "./stage.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const GONE_EVERY_MS = 20;

export class Lasting {
  readonly dataDir = mkdtempSync(join(tmpdir(), "trustrank-attack-"));
  /** Settings of the next start. */
  env: Readonly<Record<string, string>>;
  #service: ServerProcess | undefined;

  constructor(env: Readonly<Record<string, string>> = {}) {
    this.env = env;
  }

  /** Starts the service; it must not be running. Rejects when it does not come up. */
  async start(...flags: string[]): Promise<ServerProcess> {
    const none = () => undefined;
    this.#service = await startServiceWith(this.env, this.dataDir, none, "--no-sample", ...flags);
    return this.#service;
  }

  /** Sends SIGTERM; resolves with the exit code and how long it took in ms. */
  async stop(): Promise<{ code: number | null; tookMs: number }> {
    const startedAt = performance.now();
    const code = (await this.#service?.stop()) ?? null;
    this.#service = undefined;
    return { code, tookMs: performance.now() - startedAt };
  }

  /** Kills it in the middle of what it does. */
  async kill(): Promise<void> {
    const { pid } = this.#service!;
    process.kill(pid, "SIGKILL");
    // Reaps the child, too: a process that is gone and not waited for still has its pid.
    await this.#service!.stop();
    this.#service = undefined;
    await delay(GONE_EVERY_MS);
  }

  /** Runs a command of the service over the directory. */
  async command(...args: string[]): Promise<{ code: number; text: string }> {
    const script = join(ROOT, "src/cli/trustrank.ts");
    const child = spawn(process.execPath, [script, ...args, "--data-dir", this.dataDir], {
      env: { ...process.env, ...this.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (piece: Buffer) => (text += piece.toString()));
    }
    const [code] = (await once(child, "close")) as [number | null];
    return { code: code ?? -1, text };
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** Asks the operator's SQL; the rows. Rejects when it is refused. */
export async function sql(
  stage: AttackStage,
  service: ServerProcess,
  text: string,
): Promise<unknown[][]> {
  const reply = await stage.ask(service, "/v1/query", { body: { sql: text } });
  if (reply.status !== 200) throw new Error(`query: ${reply.status} ${reply.text.slice(0, 200)}`);
  return (JSON.parse(reply.text) as { rows: unknown[][] }).rows;
}

/** One gauge or counter of `/metrics`. */
export async function gauge(
  stage: AttackStage,
  service: ServerProcess,
  name: string,
): Promise<number> {
  const { text } = await stage.ask(service, "/metrics");
  return Number(new RegExp(`^trustrank_${name} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
}

/** Waits until the store shows all that is durable; rejects after `msMax`. */
export async function untilApplied(
  stage: AttackStage,
  service: ServerProcess,
  msMax = 120_000,
): Promise<void> {
  const until = performance.now() + msMax;
  while (performance.now() < until) {
    const durable = await gauge(stage, service, "journal_position");
    const applied = await gauge(stage, service, "store_position");
    const restoring = await gauge(stage, service, "store_restoring_files");
    if (applied >= durable && restoring === 0) return;
    await delay(100);
  }
  throw new Error("the store did not catch up");
}

// Drives the functions of examples/gateways/kong.yaml, which _kong.lua runs: carries their question to
// the service and its answer back, and tells what an end client and the application would get.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** What is read of kong.yaml. */
export interface KongConfig {
  services: {
    routes: { name: string; tags?: string[] }[];
    plugins: { name: string; config: { access: string[]; header_filter: string[] } }[];
  }[];
}

/** A question of the function, as it would go out. */
export interface Question {
  readonly timeouts: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
}

export interface KongOutcome {
  readonly status: number;
  readonly hasReachedApp: boolean;
  /** Added to the end client's answer. */
  readonly headers: Record<string, string>;
  /** What the application gets, in lower case. */
  readonly appHeaders: Record<string, string>;
  readonly logged: string;
}

export interface KongRequest {
  readonly method?: string;
  /** The tag of the route that was matched. */
  readonly tag?: string;
  /** The `custom_id` of the consumer whom Kong authenticated. */
  readonly agent?: string;
  readonly headers?: Record<string, string>;
}

export class Kong {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #directory: string;

  private constructor(child: ChildProcess, directory: string) {
    this.#child = child;
    this.#directory = directory;
    this.#lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  }

  static async open(access: string, headerFilter: string): Promise<Kong> {
    const directory = await mkdtemp(path.join(tmpdir(), "trustrank-kong-"));
    const files = [path.join(directory, "access.lua"), path.join(directory, "header-filter.lua")];
    await writeFile(files[0]!, access);
    await writeFile(files[1]!, headerFilter);
    const script = fileURLToPath(new URL("_kong.lua", import.meta.url));
    const stdio = ["pipe", "pipe", "inherit"] as const;
    return new Kong(spawn("luajit", [script, ...files], { stdio: [...stdio] }), directory);
  }

  /** Sends one request through the functions; `answer` gives what TrustRank says to a question. */
  async send(
    request: KongRequest,
    answer: (question: Question) => Promise<Response>,
  ): Promise<KongOutcome> {
    const { method = "GET", tag = "", agent = "", headers = {} } = request;
    this.#say([method, tag, agent, ...Object.entries(headers).flat()]);
    let fields = await this.#hear();
    if (fields[0] === "ask") {
      const [, timeouts = "", asked = "", url = ""] = fields;
      const question = { timeouts, method: asked, url, headers: pairsOf(fields.slice(4)) };
      this.#say(await spoken(answer(question)));
      fields = await this.#hear();
    }
    const appHeaders = pairsOf(fields.slice(1));
    const [kind, status, logged = "", ...rest] = await this.#hear();
    return {
      status: Number(status),
      hasReachedApp: kind === "pass",
      headers: pairsOf(rest),
      appHeaders,
      logged,
    };
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin?.end();
    await exited;
    await rm(this.#directory, { recursive: true, force: true });
  }

  #say(fields: readonly string[]): void {
    this.#child.stdin?.write(`${fields.join("\t")}\n`);
  }

  async #hear(): Promise<string[]> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("the functions of kong.yaml ended");
    return value.split("\t");
  }
}

/** As `request_uri` of resty.http: the whole answer, or none at all. */
async function spoken(answer: Promise<Response>): Promise<string[]> {
  try {
    const response = await answer;
    const body = await response.text();
    return [String(response.status), body.replaceAll(/\s/g, " "), ...[...response.headers].flat()];
  } catch {
    return ["none"];
  }
}

function pairsOf(fields: readonly string[]): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (let at = 0; at + 1 < fields.length; at += 2) pairs[fields[at]!] = fields[at + 1]!;
  return pairs;
}

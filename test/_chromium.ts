// Headless Chromium for tests: the command, the flags, and one page spoken to over the debugging pipe.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable, Writable } from "node:stream";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** The browser's command; undefined where there is none: its tests have `needs("chromium")`. */
export const browser = NAMES.find(
  (name) => spawnSync("sh", ["-c", `command -v ${name}`]).status === 0,
);

/** A browser that shows `address`; its profile is the caller's to remove. */
export function openPage(address: string, profile: string): ChildProcess {
  const flags = [
    "--headless=new",
    // Containers lack what the sandbox needs; the page is our own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    `--user-data-dir=${profile}`,
    "--remote-debugging-pipe",
  ];
  // Two more descriptors, for the debugging pipe: it ends the browser when this process ends.
  const stdio = ["ignore", "ignore", "pipe", "pipe", "pipe"] as const;
  return spawn(browser!, [...flags, address], { stdio: [...stdio] });
}

/** An event of the debugging protocol. */
export interface PageEvent {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

interface Message extends Partial<PageEvent> {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

type Waiting = { resolve: (result: Message["result"]) => void; reject: (error: Error) => void };

/** One empty page of a browser of its own. */
export class DebuggedPage {
  /** All events so far, of the domains that were enabled. */
  readonly events: PageEvent[] = [];
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #waiting = new Map<number, Waiting>();
  readonly #expected: { method: string; resolve: () => void }[] = [];
  #sessionId: string | undefined = undefined;
  #lastId = 0;
  #rest = "";

  private constructor(child: ChildProcess, profile: string) {
    this.#child = child;
    this.#profile = profile;
    (child.stdio[4] as Readable).setEncoding("utf8").on("data", (piece: string) => {
      const texts = (this.#rest + piece).split("\0");
      this.#rest = texts.pop()!;
      for (const text of texts) this.#take(JSON.parse(text) as Message);
    });
    child.once("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the browser has ended"));
    });
  }

  static async open(): Promise<DebuggedPage> {
    const profile = await mkdtemp(path.join(tmpdir(), "trustrank-browser-"));
    const page = new DebuggedPage(openPage("about:blank", profile), profile);
    const { targetInfos } = (await page.send("Target.getTargets")) as {
      targetInfos: { targetId: string; type: string }[];
    };
    const { targetId } = targetInfos.find(({ type }) => type === "page")!;
    const attached = await page.send("Target.attachToTarget", { targetId, flatten: true });
    page.#sessionId = attached["sessionId"] as string;
    return page;
  }

  /** Sends a command and gives its result. */
  send(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = (this.#lastId += 1);
    const session = this.#sessionId === undefined ? {} : { sessionId: this.#sessionId };
    const pipe = this.#child.stdio[3] as Writable;
    pipe.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (result) => resolve(result ?? {}), reject });
    });
  }

  /** The next event of this name. */
  next(method: string): Promise<void> {
    return new Promise((resolve) => this.#expected.push({ method, resolve }));
  }

  /** The value of an expression in the page; promises are waited for. */
  async evaluate(expression: string): Promise<unknown> {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result } = (await this.send("Runtime.evaluate", options)) as {
      result: { value?: unknown };
    };
    return result.value;
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.kill("SIGKILL");
    await ended;
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #take({ id, method, params = {}, result, error }: Message): void {
    if (method !== undefined) {
      this.events.push({ method, params });
      const met = this.#expected.findIndex((each) => each.method === method);
      if (met >= 0) this.#expected.splice(met, 1)[0]!.resolve();
      return;
    }
    const waiting = this.#waiting.get(id!);
    this.#waiting.delete(id!);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error.message));
  }
}

// The service as its systemd unit runs it, without systemd: the unit's command line, file of settings,
// environment, credential and limits, and a new start after its own pause whenever the process ends.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ADMIN_KEY, COMMAND } from "../server-process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = path.join(ROOT, "deploy/systemd");
const UNIT = readFileSync(path.join(FOLDER, "trustrank.service"), "utf8");

/** The value of a setting of the unit. */
export function settingOf(name: string): string {
  return new RegExp(`^${name}=(.*)$`, "m").exec(UNIT)?.[1] ?? "";
}

/** `100ms`, `2s`, `2`. */
export function msOf(span: string): number {
  const [, number = "0", unit] = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(span) ?? [];
  return Number(number) * (unit === "ms" ? 1 : 1000);
}

/** What `npm install --global` puts into `bin`: the package's file, found by its first line. */
function installedCommand(): string {
  const built = path.join(ROOT, "build/package/src/cli/trustrank.js");
  return path.join(path.dirname(COMMAND.endsWith(".js") ? COMMAND : built), "bin.js");
}

export class Supervised {
  readonly pauseMs = msOf(settingOf("RestartSec"));
  /** Ends that it was not told of, by signal or exit code. */
  readonly ends: string[] = [];
  #child: ChildProcess | undefined;
  #isStopping = false;
  #said = "";
  readonly #argv: readonly string[];
  readonly #environment: Readonly<Record<string, string>>;
  readonly #directory: string;

  /** `folder` gets the settings and the credential, `dataDir` is served on `port`. */
  constructor(folder: string, dataDir: string, port: number) {
    mkdirSync(folder, { recursive: true });
    this.#directory = folder;
    const settings = path.join(folder, "trustrank.yaml");
    const shipped = readFileSync(path.join(FOLDER, "trustrank.yaml"), "utf8");
    const own = shipped
      .replace(/^port: .*$/m, `port: ${port}`)
      .replace(/^data_dir: .*$/m, `data_dir: ${dataDir}`);
    writeFileSync(settings, own);
    const credential = settingOf("LoadCredential").split(":", 1)[0]!;
    writeFileSync(path.join(folder, credential), ADMIN_KEY, { mode: 0o600 });
    const [, ...parameters] = settingOf("ExecStart").split(" ");
    const command = parameters.map((each) => (each.endsWith(".yaml") ? settings : each));
    const limits = `ulimit -c ${settingOf("LimitCORE")}; ulimit -n ${settingOf("LimitNOFILE")} 2> /dev/null`;
    this.#argv = ["-c", `${limits}; exec "$0" "$@"`, installedCommand(), ...command];
    const [name = "", value = ""] = settingOf("Environment").split("=");
    const nodeFirst = `${path.dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;
    this.#environment = { PATH: nodeFirst, [name]: value, CREDENTIALS_DIRECTORY: folder };
  }

  /** The process that runs now; 0 between two. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** The last of what it said. */
  get said(): string {
    return this.#said;
  }

  start(): void {
    const child = spawn("/bin/sh", this.#argv, {
      cwd: this.#directory,
      env: this.#environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on(
        "data",
        (piece: Buffer) => (this.#said = (this.#said + piece.toString()).slice(-4096)),
      );
    }
    // Not `close`: what the dead one left in a pipe is read besides.
    child.once("exit", (code, signal) => {
      this.#child = undefined;
      if (this.#isStopping) return;
      this.ends.push(signal ?? String(code));
      setTimeout(() => this.start(), this.pauseMs);
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const child = this.#child;
    if (child === undefined) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await gone;
  }
}

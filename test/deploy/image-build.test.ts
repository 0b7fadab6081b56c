// The image as its Dockerfile builds it, without a container engine: its COPY and RUN lines in a fresh
// directory, then what the last stage takes of that, run by its own command as its own user on a root that
// nobody can write. Only the download of packages is not repeated: npm is asked what it would install.
import { type SpawnSyncReturns, execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../_ports.ts";
import { heard, openSandbox, ROOT, SANDBOX } from "./_read-only.ts";

interface Step {
  readonly stage: string;
  readonly name: string;
  readonly words: string;
}

/** All instructions, each with the stage that it stands in. */
function stepsOf(text: string): Step[] {
  let stage = "";
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n");
  return lines.flatMap((line) => {
    const [, name = "", words = ""] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? [];
    if (name === "FROM") stage = / AS (\w+)$/.exec(words)?.[1] ?? "";
    return name === "" ? [] : [{ stage, name, words: words.replaceAll(/\s+/g, " ").trim() }];
  });
}

const STEPS = stepsOf(readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8"));
const inStage = (stage: string, name: string) =>
  STEPS.filter((step) => step.stage === stage && step.name === name).map(({ words }) => words);
const WORKDIR = inStage("build", "WORKDIR")[0]!;
const [INSTALL = "", BUILD = ""] = inStage("build", "RUN");
/** Patterns of names, and of paths from the top. */
const IGNORED = readFileSync(join(ROOT, ".dockerignore"), "utf8").split("\n").filter(Boolean);

function isIgnored(path: string): boolean {
  return IGNORED.some((pattern) =>
    pattern.startsWith("**/") ? basename(path) === pattern.slice(3) : path === pattern,
  );
}

// Beside the packages, so that they can be linked instead of copied.
mkdirSync(join(ROOT, "build"), { recursive: true });
const folder = mkdtempSync(join(ROOT, "build/image-"));
const inside = (path: string) => join(folder, relative(WORKDIR, join(WORKDIR, path)));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(line: string): SpawnSyncReturns<string> {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}` };
  // Of the machine that runs the tests, not of the image.
  delete (env as NodeJS.ProcessEnv)["NODE_OPTIONS"];
  return spawnSync("sh", ["-ec", line], { cwd: folder, env, encoding: "utf8" });
}

/** As `COPY FROM... TO`, what is ignored left out. */
function copy(words: string): void {
  const paths = words.split(" ");
  const to = paths.pop()!;
  for (const from of paths) {
    const target = to.endsWith("/") ? join(inside(to), basename(from)) : inside(to);
    for (const name of from === "." ? readdirSync(ROOT) : [""]) {
      const source = join(ROOT, from, name);
      // The folder itself lies in one that is ignored.
      if (isIgnored(relative(ROOT, source))) continue;
      cpSync(source, join(target, name), {
        recursive: true,
        filter: (path) => !isIgnored(relative(ROOT, path)),
      });
    }
  }
}

describe("the stage that builds", () => {
  test("has all that npm needs before it installs, and a lock that fits", () => {
    const [first] = STEPS.flatMap(({ name }, at) => (name === "RUN" ? [at] : []));
    const before = STEPS.slice(0, first).filter(({ name }) => name === "COPY");
    for (const { words } of before) copy(words);
    expect(INSTALL).toMatch(/^npm ci --ignore-scripts /);
    const asked = run(`${INSTALL} --dry-run --offline`);
    expect(asked.status, asked.stderr).toBe(0);
  });

  test("builds what the last stage takes, from what is not ignored", () => {
    copy(inStage("build", "COPY").at(-1)!);
    expect(IGNORED.filter((name) => existsSync(join(folder, name)))).toEqual([]);
    execFileSync("cp", ["-al", join(ROOT, "node_modules"), join(folder, "node_modules")]);
    // The one file that npm writes in place: it must not be the tree's own.
    rmSync(join(folder, "node_modules/.package-lock.json"), { force: true });
    const built = run(BUILD);
    expect(built.status, built.stderr).toBe(0);
    // What is for development alone is gone: nothing of it is needed below.
    expect(existsSync(join(folder, "node_modules/vitest"))).toBe(false);
  });
});

describe("the image", SANDBOX, () => {
  const variables = Object.fromEntries(
    inStage("", "ENV")[0]!
      .split(" ")
      .map((pair) => pair.split("=", 2) as [string, string]),
  );
  const json = (text: string) => JSON.parse(text) as string[];
  const argv = [...json(inStage("", "ENTRYPOINT")[0]!), ...json(inStage("", "CMD")[0]!)];
  const health = json(/CMD (\[.*\])/.exec(inStage("", "HEALTHCHECK")[0]!)![1]!);
  let sandbox: ReturnType<typeof openSandbox>;

  beforeAll(() => {
    const taken = new Map(
      inStage("", "COPY").map((words) => {
        const [flag, from, to] = words.split(" ");
        if (flag !== "--from=build") throw new Error(`the last stage copies by \`${flag}\``);
        return [to!, inside(relative(WORKDIR, from!))];
      }),
    );
    const [command, modules] = [...taken.keys()];
    if (modules !== `${command}/node_modules`) throw new Error(`packages go to ${modules}`);
    sandbox = openSandbox({
      command: command!,
      data: variables["TRUSTRANK_DATA_DIR"]!,
      from: { command: taken.get(command!)!, modules: taken.get(modules)! },
    });
  });
  afterAll(() => sandbox?.remove());

  test("becomes healthy with what was built, and without what is for development", async () => {
    const port = String(await freePort());
    const settings = { ...variables, TRUSTRANK_PORT: port, TRUSTRANK_DRAIN_MS: "0" };
    const service = sandbox.start(argv, settings);
    const { ended, text } = heard(service);
    const isHealthy = async () => (await heard(sandbox.start(health, settings)).ended) === 0;
    await expect.poll(isHealthy, { interval: 200, message: text() }).toBe(true);
    service.kill("SIGTERM");
    expect(await ended, text()).toBe(0);
  });
});

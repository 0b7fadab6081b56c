// Runner of the benches and evaluations: lists them, or runs one or a group with the flags that follow. The
// summary of a suite in the list is the first sentence of its file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { listSuites, type Suite } from "./front/suites.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

function formatHelp(suites: ReadonlyMap<string, readonly Suite[]>): string {
  const names = [...suites.values()].flat().map(({ name }) => name);
  const width = Math.max(...names.map((name) => name.length));
  const groups = [...suites].map(([group, members]) => {
    const lines = members.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
    return `${group}\n${lines.join("\n")}`;
  });
  return `npm run bench -- SUITE|GROUP [--out-dir DIR] [flags of the suite]

  SUITE --help     the flags of one suite
  GROUP            its suites one after another; what fails does not end the others
  --out-dir DIR    the last line of each as DIR/SUITE.json, for \`npm run bench -- plot\`

${groups.join("\n\n")}
`;
}

/** Runs one; its own table goes to the terminal. @returns its last line, undefined when it failed. */
async function run(suite: Suite, flags: readonly string[]): Promise<string | undefined> {
  const node = ["--disable-warning=ExperimentalWarning", path.join(ROOT, suite.file)];
  const child = spawn(process.execPath, [...node, ...flags], {
    cwd: ROOT,
    stdio: ["inherit", "pipe", "inherit"],
  });
  const pieces: string[] = [];
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (piece: string) => {
    pieces.push(piece);
    process.stdout.write(piece);
  });
  const [code] = (await once(child, "close")) as [number | null];
  return code === 0 ? pieces.join("").trimEnd().split("\n").at(-1) : undefined;
}

async function main(): Promise<void> {
  const groups = listSuites((file) => readFileSync(path.join(ROOT, file), "utf8"));
  const [asked, ...rest] = process.argv.slice(2);
  if (asked === undefined || asked === "--help") {
    process.stdout.write(formatHelp(groups));
    return;
  }
  const suites = [...groups.values()].flat();
  const chosen = groups.get(asked) ?? suites.filter(({ name }) => name === asked);
  if (chosen.length === 0) throw new Error(`no suite or group is called \`${asked}\`: see --help`);
  const at = rest.indexOf("--out-dir");
  const directory = at < 0 ? undefined : rest[at + 1];
  if (at >= 0 && directory === undefined) throw new Error("--out-dir takes a directory");
  const flags = at < 0 ? rest : rest.toSpliced(at, 2);
  for (const suite of chosen) {
    if (chosen.length > 1) process.stderr.write(`\n${suite.name}\n`);
    const line = await run(suite, flags);
    if (line === undefined) {
      process.stderr.write(`${suite.name} failed\n`);
      process.exitCode = 1;
    } else if (directory !== undefined && line.startsWith("{")) {
      mkdirSync(directory, { recursive: true });
      writeFileSync(path.join(directory, `${suite.name}.json`), `${line}\n`);
    }
  }
}

await main();

// Flags of a bench that says of itself, under --help, what its file says of it and which flags it takes.
import { readFileSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";

/**
 * `parseArgs` for the file `file`. With --help it prints the comment at the head of the file and the flags
 * with their defaults, and ends the process.
 */
export function parsed<const Config extends ParseArgsConfig>(
  file: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  if (process.argv.slice(2).includes("--help")) {
    process.stdout.write(helpOf(readFileSync(file, "utf8"), config));
    process.exit();
  }
  return parseArgs(config);
}

function helpOf(text: string, { options = {} }: ParseArgsConfig): string {
  const head = text.split("\n").findIndex((line) => !line.startsWith("//"));
  const told = text.split("\n").slice(0, head);
  const comment = told.map((line) => line.replace(/^\/\/ ?/, "")).join("\n");
  const named = Object.entries(options).map(([name, { type, default: value }]) => {
    return [type === "boolean" ? `--${name}` : `--${name} VALUE`, defaultOf(value)] as const;
  });
  const width = Math.max(0, ...named.map(([flag]) => flag.length));
  const flags = named.map(([flag, value]) => `  ${flag.padEnd(width)}  ${value}`.trimEnd());
  return `${comment}\n\n${flags.join("\n")}\n`;
}

type Default = NonNullable<ParseArgsConfig["options"]>[string]["default"];

function defaultOf(value: Default): string {
  if (value === undefined || value === false) return "";
  return `(default ${value === "" ? "none" : value.toString()})`;
}

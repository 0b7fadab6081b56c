// SVG pictures of what the suites have found: latency and throughput against the rate, cost
// by kind of request, growth, requests by threads, memory by part.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { machine } from "./server-process.ts";
import { draw } from "./plot/drawing.ts";
import { drawingsOf } from "./plot/drawings.ts";
import { resultOf } from "./plot/results.ts";

const HELP = `npm run bench -- plot FILE|DIR... [--to DIR]

  FILE|DIR   results of tail, http, growth, cores and soak: what \`--out FILE\` or \`npm run bench -- SUITE
             --out-dir DIR\` has written, or the saved last line of stdout; others are passed over
  --to DIR   (default bench/plots)

One SVG a picture, legible in light and dark. Their names are on stdout, in one JSON object.
`;

/** JSON files, of directories all of them, in the order of names. @throws Error where there is none. */
function filesOf(inputs: readonly string[]): string[] {
  const files = inputs.flatMap((input) => {
    if (!statSync(input).isDirectory()) return [input];
    const names = readdirSync(input).filter((name) => name.endsWith(".json"));
    return names.toSorted().map((name) => path.join(input, name));
  });
  if (files.length === 0) throw new Error("no result is given: see --help");
  return files;
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      to: { type: "string", default: "bench/plots" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const results = filesOf(positionals).flatMap((file) => {
    const result = resultOf(file, readFileSync(file, "utf8"));
    if (result === undefined) process.stderr.write(`${file}: nothing to draw\n`);
    return result === undefined ? [] : [result];
  });
  mkdirSync(values.to, { recursive: true });
  const plots = results.flatMap(drawingsOf).map((drawing) => {
    const file = path.join(values.to, `${drawing.name}.svg`);
    writeFileSync(file, draw(drawing));
    process.stderr.write(`${file}  ${drawing.title}\n`);
    return file;
  });
  process.stdout.write(`${JSON.stringify({ bench: "plot", machine: machine(), plots })}\n`);
}

main();

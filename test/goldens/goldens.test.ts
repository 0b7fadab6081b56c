// Everything that programs read of this one, held byte by byte against the files beside this test: OpenAPI, metrics, SQL
// views, commands and flags, settings, log events, the client's declarations. Prose is left out, so a sentence may
// change and a name may not. `TRUSTRANK_UPDATE_GOLDENS=1 npm test -- test/goldens` writes the files again.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { METRICS } from "../../src/http/metrics/metric-values.ts";
import { buildOpenApiDocument } from "../../src/http/openapi/document.ts";
import { ROUTES } from "../../src/http/routes/table.ts";
import type { Setting } from "../../src/service/settings/setting-kinds.ts";
import { SETTINGS } from "../../src/service/settings/settings.ts";
import { openDatabase } from "../../src/store/duckdb.ts";
import { createSchema } from "../../src/store/schema.ts";
import { readPage } from "../docs/_generated.ts";
import { rowsUnder } from "../docs/_tables.ts";

const ROOT = join(import.meta.dirname, "../..");
const IS_UPDATE = process.env["TRUSTRANK_UPDATE_GOLDENS"] === "1";
/** Members of OpenAPI that are text for people. */
const PROSE = new Set(["description", "summary", "title"]);

/** Whether the text is that of the file beside this test; an update writes it there. */
function isGolden(name: string, text: string): boolean {
  const path = join(import.meta.dirname, name);
  if (IS_UPDATE) writeFileSync(path, text);
  return existsSync(path) && readFileSync(path, "utf8") === text;
}

function withoutProse(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProse);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(
    ([name, member]) => !(PROSE.has(name) && typeof member === "string"),
  );
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutProse(member)]));
}

it("OpenAPI", () => {
  const { paths, components, ...rest } = withoutProse(
    buildOpenApiDocument(ROUTES, "0.0.0"),
  ) as Record<string, Record<string, object>>;
  const lines = [JSON.stringify(rest)];
  for (const [path, operations] of Object.entries(paths!)) {
    for (const [method, operation] of Object.entries(operations)) {
      lines.push(`${method} ${path} ${JSON.stringify(operation)}`);
    }
  }
  for (const [kind, members] of Object.entries(components!)) {
    for (const [name, member] of Object.entries(members)) {
      lines.push(`${kind} ${name} ${JSON.stringify(member)}`);
    }
  }
  expect(isGolden("openapi.txt", `${lines.join("\n")}\n`)).toBe(true);
});

it("metrics", () => {
  const lines = Object.entries(METRICS).map(([name, metric]) => {
    const { help: _, watch: __, ...shape } = metric as { help: string; watch?: string };
    return `${name} ${JSON.stringify(shape)}`;
  });
  expect(isGolden("metrics.txt", `${lines.join("\n")}\n`)).toBe(true);
});

it("SQL tables and views", async () => {
  const folder = mkdtempSync(join(tmpdir(), "trustrank-golden-"));
  const database = await openDatabase(join(folder, "a.duckdb"), {
    memoryMegabytes: 512,
    exportDirectory: folder,
  });
  const connection = await database.connect();
  await createSchema(connection);
  const rows = await connection.rows(
    `SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal
     ORDER BY table_name, column_index`,
  );
  connection.close();
  database.close();
  rmSync(folder, { recursive: true });
  expect(isGolden("sql.txt", `${rows.map((row) => row.join(" ")).join("\n")}\n`)).toBe(true);
});

/** Prints a line for each command, argument and flag instead of running one. */
const LIST_COMMANDS = `
import { Command } from "commander";
const list = (command, path) => {
  console.log([...path, command.usage()].join(" "));
  for (const { flags, defaultValue, mandatory, argChoices } of command.options) {
    console.log("  " + JSON.stringify([flags, defaultValue, mandatory, argChoices]));
  }
  for (const each of command.commands) list(each, [...path, each.name()]);
};
Command.prototype.parseAsync = async function () { list(this, [this.name()]); };
await import(process.env.TRUSTRANK_TEST_COMMAND);`;

it("commands and flags", () => {
  const flags = [
    "--disable-warning=ExperimentalWarning",
    "--input-type=module",
    "-e",
    LIST_COMMANDS,
  ];
  const text = execFileSync(process.execPath, flags, { cwd: ROOT, encoding: "utf8" });
  expect(isGolden("commands.txt", text)).toBe(true);
});

it("settings", () => {
  const lines = Object.entries(SETTINGS).map(([name, setting]) => {
    const { flag, variables, default: unset } = setting as Setting;
    return JSON.stringify([name, flag, variables, unset]);
  });
  expect(isGolden("settings.txt", `${lines.join("\n")}\n`)).toBe(true);
});

it("log events", () => {
  const rows = rowsUnder(readPage("docs/reference/metrics.md"), "## Log events");
  const lines = rows.map(([event, level]) => `${event} ${level}`);
  expect(isGolden("log-events.txt", `${lines.join("\n")}\n`)).toBe(true);
});

it("declarations of the client", () => {
  const folder = join(ROOT, "clients/typescript/build/esm");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const texts = names
    .filter((name) => name.endsWith(".d.ts"))
    .toSorted()
    .map((name) => {
      const text = readFileSync(join(folder, name), "utf8");
      return `// ${name}\n${text.replaceAll(/^\s*\/\*\*[^]*?\*\/\n/gm, "").replaceAll(/^\s*\/\/.*\n/gm, "")}`;
    });
  expect(isGolden("client.d.txt", texts.join("\n"))).toBe(true);
});

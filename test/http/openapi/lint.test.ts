// The served document under redocly's rules (redocly.yaml beside this file): no error, no warning. Its
// command is a development dependency, and is told to ask nobody on the network.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { ApiDocumentation } from "../../../src/http/openapi/api-documentation.ts";
import { ROUTES } from "../../../src/http/routes/table.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";

const COMMAND = fileURLToPath(import.meta.resolve("@redocly/cli/bin/cli.js"));
const CONFIG = fileURLToPath(new URL("redocly.yaml", import.meta.url));
const SILENT = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };

interface Report {
  totals: { errors: number; warnings: number; ignored: number };
  problems: { ruleId: string; message: string; location: { pointer: string }[] }[];
}

async function lint(document: Uint8Array | string): Promise<Report> {
  const folder = await mkdtemp(path.join(tmpdir(), "trustrank-openapi-"));
  try {
    const file = path.join(folder, "openapi.json");
    await writeFile(file, document);
    const options = { env: { ...process.env, ...SILENT }, maxBuffer: 1 << 26 };
    const words = [COMMAND, "lint", file, "--config", CONFIG, "--format", "json"];
    return await new Promise((resolve, reject) => {
      execFile(process.execPath, words, options, (error, stdout, stderr) => {
        // It ends with 1 when it has found something, and says what.
        if (stdout.startsWith("{")) resolve(JSON.parse(stdout) as Report);
        else reject(new Error(stderr, { cause: error }));
      });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const pages = new ApiDocumentation(ROUTES, "1.2.3");

it("finds nothing in the document", { timeout: WAIT_MS_MAX }, async () => {
  const { problems, totals } = await lint(pages.json);
  const found = problems.map((each) => `${each.ruleId} ${each.location[0]?.pointer}`);
  expect([found, totals]).toEqual([[], { errors: 0, warnings: 0, ignored: 0 }]);
});

it("would find an example that its schema refuses", { timeout: WAIT_MS_MAX }, async () => {
  const text = Buffer.from(pages.json).toString().replace('"tool_level":"L2"', '"tool_level":"L9"');
  const { problems } = await lint(text);
  expect(problems.map(({ ruleId }) => ruleId)).toContain("no-invalid-media-type-examples");
});

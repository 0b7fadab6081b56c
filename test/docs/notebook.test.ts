// The notebook of the guide: its code cells, run in order as a script on an export of a real service,
// where python3 has the packages that it names.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ROOT, startSampleService } from "../examples/_sample-service.ts";
import { needs } from "../_needs.ts";

const NOTEBOOK = join(ROOT, "docs/guide/notebook/calibration.ipynb");
/** Another Python than the first of the path; for machines that keep its packages elsewhere. */
const PYTHON = process.env["TRUSTRANK_TEST_PYTHON"] ?? "python3";

interface Cell {
  cell_type: "code" | "markdown";
  source: string[];
  outputs?: unknown[];
}

const { cells } = JSON.parse(readFileSync(NOTEBOOK, "utf8")) as { cells: Cell[] };
const code = cells.filter((cell) => cell.cell_type === "code");
const script = code.map(({ source }) => source.join("")).join("\n\n");

it("is kept without outputs, and explains every cell", () => {
  expect(code.length).toBeGreaterThan(3);
  expect(code.every(({ outputs }) => outputs?.length === 0)).toBe(true);
  expect(cells.filter((cell) => cell.cell_type === "markdown").length).toBeGreaterThan(3);
});

const PACKAGES = { timeout: 60_000, ...needs("python3-duckdb") };

it("goes from an export to a calibration plot", PACKAGES, async () => {
  const folder = mkdtempSync(join(tmpdir(), "trustrank-notebook-"));
  const service = await startSampleService();
  try {
    const agents = ["agent://acme/ledger-sync", "agent://globex/price-scout"];
    for (let n = 0; n < 40; n++) {
      const agent_id = agents[n % 2]!;
      const asked = { agent_id, action: "order.place", tool_level: "L1", context: {} };
      const { request_id } = await service.post<{ request_id: string }>("/v1/trust/verify", asked);
      const told = { subject: agent_id, reporter: "agent://acme/buyer", grade: "counterparty" };
      const outcome = n % 2 === 0 || n % 6 === 1 ? 1 : 0;
      await service.post("/v1/outcomes", { ...told, outcome, stakes: 10, request_id });
    }
    const lake = join(folder, "lake");
    await service.run("npm", ["run", "-s", "trustrank", "--", "export", "--to", lake]);
    const env = { PATH: process.env["PATH"] ?? "", TRUSTRANK_LAKE: lake, HOME: folder };
    const run = promisify(execFile);
    const { stdout } = await run(PYTHON, ["-c", script], { cwd: folder, env });
    expect(stdout).toMatch(/^\d+ of \d+ groups are as foretold; see calibration\.png$/m);
    expect(statSync(join(folder, "calibration.png")).size).toBeGreaterThan(5000);
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});

// `trustrank evidence` as its users run it: folders in, a list out, and the data directory keeps it
// from one command to the next.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

import type { ThresholdList, EvidenceList } from "../../../src/contract/schemas/sources.ts";
import { startCommand } from "../_process.ts";

const root = mkdtempSync(join(tmpdir(), "evidence-"));
const documents = join(root, "documents");

const run = (...parameters: string[]) =>
  startCommand(["evidence", ...parameters, "--data-dir", join(root, "data")]).ended;

beforeAll(() => {
  mkdirSync(join(documents, "deep"), { recursive: true });
  writeFileSync(join(documents, "a.txt"), "The bridge was opened in 1932.");
  writeFileSync(join(documents, "deep", "b.html"), "<h1>Title</h1><p>It is long.</p>");
  writeFileSync(join(documents, "c.json"), '{"opened":1932}');
  writeFileSync(join(documents, "picture.png"), "not a text");
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

it("adds the texts of a folder, lists them, revokes one", async () => {
  expect(await run("add", documents, "--prefix", "wiki/")).toMatchObject({
    code: 0,
    stdout: "3 sources registered\n",
  });
  expect(await run("revoke", "wiki/a.txt")).toMatchObject({ code: 0 });
  const { stdout } = await run("list", "--json");
  const { records, tree_size } = JSON.parse(stdout) as EvidenceList;
  expect(tree_size).toBe(4);
  expect(records.map(({ source_id, kind, state }) => [source_id, kind, state])).toEqual([
    ["wiki/a.txt", "text/plain", "revoked"],
    ["wiki/deep/b.html", "text/html", "active"],
    ["wiki/c.json", "application/json", "active"],
  ]);
});

it("labels the texts of a file, and shows the thresholds", async () => {
  const file = join(root, "labels.ndjson");
  const label = {
    content: "It was opened in 1932.",
    cited_sources: ["wiki/c.json"],
    label: "supported",
  };
  const strange = { ...label, cited_sources: ["wiki/nowhere"] };
  writeFileSync(file, [label, strange].map((each) => JSON.stringify(each)).join("\n"));
  expect(await run("label", file)).toMatchObject({ code: 0, stdout: "1 of 2 labels counted\n" });
  const { stdout } = await run("thresholds", "--json");
  const { thresholds } = JSON.parse(stdout) as ThresholdList;
  expect(thresholds.map(({ kind, from }) => `${kind} ${from}`)).toContain("qa shipped");
  writeFileSync(file, `${JSON.stringify({ ...label, label: "maybe" })}\n`);
  const { code, stderr } = await run("label", file);
  const what = "/label must be one of `supported`, `unsupported`";
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `trustrank: line 1 of \`${file}\` is not a label: ${what}\n`,
  });
});

it("says in one sentence what is wrong", async () => {
  for (const parameters of [
    ["add", join(root, "nowhere")],
    ["add", join(documents, "deep", "..", "..", "data", "journal")],
    ["revoke", "wiki/nowhere"],
  ]) {
    const { code, stdout, stderr } = await run(...parameters);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^trustrank: [^\n]+\n$/);
  }
});

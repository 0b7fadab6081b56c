// `conditions import` over files: CSV as the route takes it, for the bureau where that is asked, and what a wrong file says.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import type { ConditionList } from "../../src/contract/schemas/conditions.ts";
import { runCommand } from "./_process.ts";

const folder = mkdtempSync(path.join(tmpdir(), "trustrank-conditions-import-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const conditions = (...rest: string[]) =>
  runCommand(["conditions", ...rest, "--data-dir", path.join(folder, "data"), "--json"]);

it("sets what the file has, and nothing of a wrong one", async () => {
  const file = path.join(folder, "conditions.csv");
  writeFileSync(
    file,
    "agent,state,reason_code,reason_text,scope\r\n" +
      "agent://acme/bot,suspended,fraud,forged invoices,\r\nagent://acme/eu/*,watch,incident,,tenant\r\n",
  );
  const set = await conditions("import", file, "--bureau");
  expect([set.code, set.stderr, JSON.parse(set.stdout)]).toEqual([0, "", { set: 2 }]);
  const listed = JSON.parse((await conditions("list")).stdout) as ConditionList;
  expect(listed.conditions).toMatchObject([
    { subject: "agent://acme/bot", scope: "bureau", reason: { text: "forged invoices" } },
    { subject: "agent://acme/eu/*", scope: "tenant", state: "watch" },
  ]);
  writeFileSync(file, "subject,state\nagent://acme/late,watch\n");
  const refused = await conditions("import", file);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("the first line must name columns of agent, state");
  expect((JSON.parse((await conditions("list")).stdout) as ConditionList).conditions).toHaveLength(
    2,
  );
});

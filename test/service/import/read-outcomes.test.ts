// Files into outcomes: what each format means, and that a bad line is named, not fatal.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, describe, expect, it } from "vitest";

import { LINE_BYTES_MAX, readLines } from "../../../src/service/import/read-lines.ts";
import { readOutcomes } from "../../../src/service/import/read-outcomes.ts";
import type { ImportFormat } from "../../../src/contract/views.ts";
import { ServiceFault } from "../../../src/contract/faults.ts";

const folder = mkdtempSync(join(tmpdir(), "trustrank-read-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(text: string | Buffer): string {
  const path = join(folder, "file");
  writeFileSync(path, text);
  return path;
}

function rowsOf(text: string, format: ImportFormat, namespace = "otc") {
  return [...readOutcomes(fileOf(text), format, namespace)].map(({ line, outcome }) => ({
    line,
    outcome: outcome instanceof ServiceFault ? `bad: ${outcome.detail}` : outcome,
  }));
}

const OUTCOME = {
  subject: "agent://a/x",
  reporter: "agent://b/y",
  outcome: 1,
  stakes: 2.5,
  grade: "counterparty",
} as const;

describe("lines", () => {
  it("come with their number, without breaks, blanks and byte order mark", () => {
    const lines = [...readLines(fileOf("\uFEFFone\r\n\n  \ntwo\nthree"))];
    expect(lines.map(({ number, text }) => [number, text])).toEqual([
      [1, "one"],
      [4, "two"],
      [5, "three"],
    ]);
  });

  it("are whole across the pieces of a large file", () => {
    const texts = Array.from({ length: 60_000 }, (_, i) => `${i}:${"x".repeat(i % 37)}é`);
    const path = fileOf(texts.join("\n"));
    let seen = 0;
    let bytes = 0;
    for (const line of readLines(path)) {
      if (line.text !== texts[seen]) throw new Error(`line ${line.number} is broken`);
      seen += 1;
      bytes += line.bytes;
    }
    expect(seen).toBe(texts.length);
    expect(bytes).toBe(Buffer.byteLength(texts.join("\n")));
  });

  it("may not be endless", () => {
    const path = fileOf(`ok\n${"x".repeat(3 * LINE_BYTES_MAX)}`);
    expect(() => [...readLines(path)]).toThrow("line 2 is longer than");
  });
});

describe("ndjson", () => {
  it("reads outcomes and names bad lines", () => {
    const good = { ...OUTCOME, settled_at: "2025-01-01T00:00:00Z", agent_fault: false };
    const text = `${JSON.stringify(good)}\n{"subject":1}\nnot json\n\n${JSON.stringify(OUTCOME)}\n`;
    const rows = rowsOf(text, "ndjson");
    expect(rows.map((row) => row.line)).toEqual([1, 2, 3, 5]);
    expect(rows[0]!.outcome).toEqual({ ...good, settled_at: Date.UTC(2025, 0, 1) });
    expect(rows[1]!.outcome).toMatch(/^bad: .*subject/);
    expect(rows[2]!.outcome).toMatch(/^bad: /);
    expect(rows[3]!.outcome).toEqual(OUTCOME);
  });
});

describe("csv", () => {
  it("takes columns by name, in any order, empty cells as absent", () => {
    const text =
      "stakes,grade,outcome,reporter,subject,settled_at,agent_fault,action\r\n" +
      '2.5,counterparty,1,agent://b/y,"agent://a/x",1735689600000,false,crm.read\r\n' +
      "1e3,escrow,0,agent://b/y,agent://a/x,2025-01-01T00:00:00Z,,\r\n";
    expect(rowsOf(text, "csv")).toEqual([
      {
        line: 2,
        outcome: {
          ...OUTCOME,
          settled_at: 1_735_689_600_000,
          agent_fault: false,
          action: "crm.read",
        },
      },
      {
        line: 3,
        outcome: {
          ...OUTCOME,
          outcome: 0,
          stakes: 1000,
          grade: "escrow",
          settled_at: 1_735_689_600_000,
        },
      },
    ]);
  });

  it("tells an empty cell, which is absent, from an empty text, which no member may be", () => {
    const header = "subject,reporter,outcome,stakes,grade,action";
    const row = "agent://a/x,agent://b/y,1,2.5,counterparty";
    const [absent, empty] = rowsOf(`${header}\n${row},\n${row},""`, "csv");
    expect(absent!.outcome).toEqual(OUTCOME);
    expect(empty!.outcome).toMatch(/^bad: .*action/);
  });

  it("takes who reported, and whether it is first-party", () => {
    const header = "subject,reporter,outcome,stakes,grade,tenant,first_party";
    const row = "agent://a/x,agent://b/y,1,2.5,counterparty";
    const rows = rowsOf(`${header}\n${row},globex,false\n${row},globex,\n${row},,0`, "csv");
    expect(rows.map(({ outcome }) => outcome)).toEqual([
      { ...OUTCOME, tenant: "globex", first_party: false },
      { ...OUTCOME, tenant: "globex" },
      expect.stringMatching(/^bad: .*first_party/),
    ]);
  });

  it("names rows that are ragged, badly quoted or no outcome", () => {
    const header = "subject,reporter,outcome,stakes,grade";
    const rows = rowsOf(`${header}\na,b\n"a,b,c,d,e\nagent://a/x,agent://b/y,yes,1,self`, "csv");
    expect(rows.map((row) => row.line)).toEqual([2, 3, 4]);
    expect(rows[0]!.outcome).toBe("bad: expected 5 cells, found 2");
    expect(rows[1]!.outcome).toBe("bad: quotes do not match");
    expect(rows[2]!.outcome).toMatch(/outcome/);
  });
});

describe("snap-ratings", () => {
  it("is sorted by time, then by line, whatever the order of the file", () => {
    const rows = rowsOf("3,4,-7,200\n1,2,10,100.5\n5,6,1,100.5\n", "snap-ratings", "btc");
    expect(rows).toEqual([
      {
        line: 2,
        outcome: {
          subject: "agent://btc/2",
          reporter: "agent://btc/1",
          outcome: 1,
          stakes: 10,
          grade: "counterparty",
          settled_at: 100_500,
        },
      },
      expect.objectContaining({ line: 3 }),
      {
        line: 1,
        outcome: expect.objectContaining({ outcome: 0, stakes: 7, subject: "agent://btc/4" }),
      },
    ]);
  });

  it("names lines that are no ratings", () => {
    const rows = rowsOf("1,2,0,5\n1,2,x,5\n1,2,3\n1,2,3,4,5\n1,,3,4\n1,2,3,soon\n", "snap-ratings");
    expect(rows).toHaveLength(6);
    for (const row of rows) expect(row.outcome).toMatch(/^bad: /);
  });
});

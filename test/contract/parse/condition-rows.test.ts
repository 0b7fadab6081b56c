// CSV of conditions: what stands in each column, and faults that name the row, the column and the line.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceFault } from "../../../src/contract/faults.ts";
import {
  parseConditionCsv,
  parseConditionRows,
} from "../../../src/contract/parse/condition-rows.ts";
import { parseConditionBatch } from "../../../src/contract/parse/conditions.ts";

const NOW_MS = Date.UTC(2026, 4, 5);
const UNTIL = "2026-06-01T00:00:00Z";
const HEADER = "agent,state,reason_code,reason_text,until,max_stakes,levels";

const parse = (text: string) => parseConditionCsv(Buffer.from(text), NOW_MS);

function faultOf(text: string | Buffer): ServiceFault {
  try {
    parseConditionCsv(Buffer.from(text), NOW_MS);
  } catch (thrown) {
    if (thrown instanceof ServiceFault) return thrown;
    throw thrown;
  }
  throw new Error("it was taken");
}

describe("CSV of conditions", () => {
  it("gives the same conditions as the document with the same members", () => {
    const text = `${HEADER}
agent://acme/price-bot,suspended,fraud,"forged ""invoices"", two of them",,,
agent://acme/eu/*,cleared,known,,${UNTIL},250.5,"L1,L2"

agent://acme/late,watch,incident,,${Date.parse(UNTIL)},,L3
`;
    const conditions = [
      {
        subject: "agent://acme/price-bot",
        state: "suspended",
        reason: { code: "fraud", text: 'forged "invoices", two of them' },
      },
      {
        subject: "agent://acme/eu/*",
        state: "cleared",
        reason: { code: "known" },
        until: UNTIL,
        max_stakes: 250.5,
        levels: ["L1", "L2"],
      },
      {
        subject: "agent://acme/late",
        state: "watch",
        reason: { code: "incident" },
        until: UNTIL,
        levels: ["L3"],
      },
    ];
    const orders = parseConditionBatch({ conditions }, NOW_MS);
    expect(parse(text)).toEqual(orders);
    expect(parse(`\uFEFF${text.replaceAll("\n", "\r\n")}`)).toEqual(orders);
  });

  it("takes columns in any order, with a case and a scope", () => {
    const text = `case,scope,reason_code,state,agent\nINC-7,bureau,fraud,suspended,agent://acme/bot`;
    const [order] = parse(text);
    expect(order).toMatchObject({ scope: "bureau", subject: "agent://acme/bot" });
    expect(order!.condition).toMatchObject({ state: "suspended", case: "INC-7" });
  });

  it("names the row, the column and the line of each fault", () => {
    const text = `${HEADER}
agent://acme/one,suspended,fraud,"over
two lines",,,
agent://acme/two,stopped,Bad Code,,,,
agent://acme/three,cleared,known,,,much,L9
agent://acme/one,watch,again,,,,`;
    const { code, errors } = faultOf(text);
    expect(code).toBe("invalid_request");
    const told = errors.map(({ pointer, detail }) => [pointer, detail.split(":")[0]]);
    // A text in quotes may go on in the next line; a condition's text must not.
    expect(told).toEqual([
      ["/0/reason_text", "line 2"],
      ["/1/state", "line 4"],
      ["/1/reason_code", "line 4"],
      ["/2/levels", "line 5"],
      ["/2/max_stakes", "line 5"],
    ]);
    const twice = `${HEADER}\nagent://acme/one,watch,a,,,,\nagent://acme/one,watch,a,,,,`;
    expect(faultOf(twice).errors).toMatchObject([{ pointer: "/1/agent", code: "duplicate" }]);
    expect(faultOf(`${HEADER}\n,watch,a,,,,`).errors).toMatchObject([{ pointer: "/0/agent" }]);
  });

  it.each([
    ["no header", "agent://acme/bot,suspended", "the first line must name columns"],
    ["an unknown column", "agent,state,reason\n", "the first line must name columns"],
    ["a column twice", "agent,agent\n", "the first line must name columns"],
    ["a row of another length", `${HEADER}\nagent://acme/bot,watch\n`, "line 2 has 2 cells"],
    ["quotes that do not pair", `${HEADER}\n"agent://acme/bot,watch`, "line 2: the quotes"],
  ])("refuses %s", (_what, text, detail) => {
    const fault = faultOf(text);
    expect([fault.code, fault.message]).toEqual([
      "invalid_parameter",
      expect.stringContaining(detail),
    ]);
  });

  it("refuses nothing, more than 1,000 rows, and what is not UTF-8", () => {
    expect(faultOf(`${HEADER}\n`).errors).toMatchObject([{ pointer: "" }]);
    const rows = Array.from({ length: 1001 }, (_, at) => `agent://acme/${at},watch,a,,,,`);
    expect(faultOf([HEADER, ...rows].join("\n")).errors).toMatchObject([{ pointer: "" }]);
    expect(parse([HEADER, ...rows.slice(1)].join("\n"))).toHaveLength(1000);
    expect(faultOf(Buffer.from([0xff, 0xfe])).code).toBe("malformed_body");
  });

  it("reads back any text that is written in quotes", () => {
    const cell = fc.string({ unit: "binary" }).map((text) => text.trim());
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 5 }), (cells) => {
        const lines = cells.map((text) => `agent://acme/bot,"${text.replaceAll('"', '""')}"`);
        const rows = parseConditionRows(["agent,reason_text", ...lines].join("\n"));
        const texts = rows.map(({ reason }) => (reason as { text?: string }).text ?? "");
        expect(texts).toEqual(cells);
      }),
    );
  });
});

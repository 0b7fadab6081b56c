// CSV as the service writes and reads it: what is quoted, and that NULL is not the empty string.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { formatCsv, parseCsvLine } from "../../src/platform/csv.ts";

const FORMULA = /^(?![-]\d+(\.\d+)?([eE][+-]?\d+)?$)[=+@\t\r\-\uFF1D\uFF0B\uFF0D\uFF20]/;

describe("CSV written", () => {
  it("quotes what needs it and tells NULL from an empty string", () => {
    const rows = [
      ["", null],
      ["x\ny", { k: 1 }],
      [true, 1.5],
      [false, -0.25],
      ['say "hi"', ["a", 1]],
      [undefined, "a\r"],
    ];
    expect(formatCsv(["a,b", "c"], rows, "\r\n")).toBe(
      '"a,b",c\r\n"",\r\n"x\ny","{""k"":1}"\r\ntrue,1.5\r\nfalse,-0.25\r\n' +
        '"say ""hi""","[""a"",1]"\r\n,"a\r"\r\n',
    );
  });

  it("writes no formula, and numbers as they are", () => {
    const formulas = ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\uFF1D1"];
    const numbers = [-1, -0.5, 1e300, -1n, "-12345678901234567890", "-1.5e-7"];
    const rows = [formulas, numbers, ["a=b", "agent://a/b", "{-}"]];
    expect(formatCsv(["=h"], rows, "\n")).toBe(
      "'=h\n'=1+1,'+1,'-1+1,'@SUM(A1),'\t=1,'\uFF1D1\n" +
        "-1,-0.5,1e+300,-1,-12345678901234567890,-1.5e-7\na=b,agent://a/b,{-}\n",
    );
    expect(formatCsv(["\r=1"], [], "\n")).toBe('"\'\r=1"\n');
  });

  it("has a header even of no rows", () => {
    expect(formatCsv(["n", ""], [], "\n")).toBe('n,""\n');
  });
});

describe("CSV read", () => {
  it("takes fields plain and quoted, blanks around both, and tells NULL from an empty string", () => {
    expect(parseCsvLine("a, b ,,0")).toEqual(["a", "b", null, "0"]);
    expect(parseCsvLine(' "a" , " b " ,c ,"",')).toEqual(["a", " b ", "c", "", null]);
    expect(parseCsvLine('"say ""hi"", twice",1')).toEqual(['say "hi", twice', "1"]);
  });

  it.each(['"a', 'a"b,c', '"a"b,c', '""",'])("refuses quotes that do not match: %s", (line) => {
    expect(parseCsvLine(line)).toBeUndefined();
  });

  it("gives back what was written", () => {
    // Blanks at the edge are kept by quotes alone, and the writer has no reason to set them.
    const text = fc.string({ unit: "binary" }).filter((value) => value.trim() === value);
    const field = fc.option(text.map((value) => value.replaceAll(/[\r\n]/g, ";")));
    const record = fc.array(field, { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(record, (fields) => {
        const [, line] = formatCsv(["h"], [fields], "\r\n").split("\r\n");
        const written = fields.map((value) =>
          value !== null && FORMULA.test(value) ? `'${value}` : value,
        );
        expect(parseCsvLine(line!)).toEqual(written);
      }),
    );
  });
});

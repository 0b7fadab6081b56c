// The strict JSON reader against a slow, obvious reference: a random document is built as a tree of
// entries, so that what it holds (duplicates and where) is known before it is text.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceFault } from "../../../src/contract/faults.ts";
import { findJsonFault } from "../../../src/contract/parse/json-fault.ts";
import { JSON_DEPTH_MAX } from "../../../src/contract/limits.ts";
import { parseJson } from "../../../src/contract/parse/json.ts";

type Node =
  | { kind: "leaf"; value: string | number | boolean | null }
  | { kind: "array"; items: Node[] }
  | { kind: "object"; entries: [string, Node][] };

const faultOf = (bytes: string | Buffer): ServiceFault => {
  try {
    parseJson(Buffer.from(bytes as string));
  } catch (thrown) {
    if (thrown instanceof ServiceFault) return thrown;
    throw thrown;
  }
  throw new Error("was accepted");
};

const name = fc.oneof(
  fc.constantFrom("a", "b", "__proto__", "constructor", "0", "1", "", "a/b", "~", "é", "\u2028"),
  fc.string({ maxLength: 3 }),
);
const leaf: fc.Arbitrary<Node> = fc
  .oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("{:}", '":"', "[[[[[[[[[[", "\\", "\u007f\u0085"),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
  )
  .map((value) => ({ kind: "leaf", value }));

function tree(depth: number): fc.Arbitrary<Node> {
  if (depth === 0) return leaf;
  const inner = tree(depth - 1);
  return fc.oneof(
    { weight: 2, arbitrary: leaf },
    {
      weight: 1,
      arbitrary: fc.array(inner, { maxLength: 4 }).map((items): Node => ({ kind: "array", items })),
    },
    {
      weight: 3,
      arbitrary: fc
        .array(fc.tuple(name, inner), { maxLength: 5 })
        .map((entries): Node => ({ kind: "object", entries })),
    },
  );
}

/** Text of a tree; `escape` decides character by character whether to write `\uXXXX`. */
function print(node: Node, escape: () => boolean, space: () => string): string {
  const quote = (text: string) => {
    let quoted = "";
    for (const character of text) {
      if (character.length === 1 && escape()) {
        quoted += `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
      } else quoted += JSON.stringify(character).slice(1, -1);
    }
    return `"${quoted}"`;
  };
  if (node.kind === "leaf") {
    return typeof node.value === "string" ? quote(node.value) : JSON.stringify(node.value);
  }
  if (node.kind === "array") {
    const items = node.items.map((item) => space() + print(item, escape, space) + space());
    return `[${items.join(",")}]`;
  }
  const members = node.entries.map(
    ([key, value]) =>
      `${space()}${quote(key)}${space()}:${space()}${print(value, escape, space)}${space()}`,
  );
  return `{${members.join(",")}}`;
}

/** Pointer of the first duplicate in document order, by the definition. */
function firstDuplicate(node: Node, pointer = ""): string | undefined {
  if (node.kind === "leaf") return undefined;
  const children: [string, Node][] =
    node.kind === "array" ? node.items.map((item, index) => [String(index), item]) : node.entries;
  const seen: string[] = [];
  for (const [key, child] of children) {
    const at = `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (seen.includes(key)) return at;
    seen.push(key);
    const inside = firstDuplicate(child, at);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

const document = fc.tuple(
  tree(4),
  fc.infiniteStream(fc.boolean()),
  fc.infiniteStream(fc.constantFrom("", "", " ", "\n", "\t\r ")),
);

describe("parseJson against the reference", () => {
  it("accepts what has no duplicate and points at the first duplicate otherwise", () => {
    fc.assert(
      fc.property(document, ([node, escapes, spaces]) => {
        const text = print(
          node,
          () => escapes.next().value as boolean,
          () => spaces.next().value as string,
        );
        const duplicate = firstDuplicate(node);
        if (duplicate === undefined) {
          expectSame(parseJson(Buffer.from(text)), JSON.parse(text));
          expect(findJsonFault(text)).toBeUndefined();
          return;
        }
        const fault = faultOf(text);
        expect(fault.code).toBe("invalid_request");
        expect(fault.errors).toEqual([
          { pointer: duplicate, code: "duplicate", detail: "member is given more than once" },
        ]);
      }),
      { numRuns: 2000 },
    );
  });

  it("agrees with JSON.parse on damaged text, and the slow reader with the fast one", () => {
    const damage = fc.tuple(
      fc.nat(),
      fc.constantFrom("", '"', "{", "}", ",", ":", "\\", "1", "e9"),
    );
    fc.assert(
      fc.property(document, damage, ([node, escapes, spaces], [position, piece]) => {
        const whole = print(
          node,
          () => escapes.next().value as boolean,
          () => spaces.next().value as string,
        );
        const at = position % (whole.length + 1);
        const text = (whole.slice(0, at) + piece + whole.slice(at + 1)).toWellFormed();
        let isAccepted = true;
        try {
          parseJson(Buffer.from(text));
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ServiceFault);
          isAccepted = false;
        }
        if (text !== "") expect(findJsonFault(text) === undefined).toBe(isAccepted);
        if (isAccepted) expectSame(parseJson(Buffer.from(text)), JSON.parse(text));
        else if (isJson(text)) expect(faultOf(text).errors).toHaveLength(1);
        else expect(["malformed_body", "invalid_request"]).toContain(faultOf(text).code);
      }),
      { numRuns: 2000 },
    );
  });

  it("never throws anything but a fault, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          parseJson(bytes);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(ServiceFault);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

/** As text: matchers stumble over members named `constructor` and `__proto__`. */
function expectSame(value: unknown, reference: unknown): void {
  expect(JSON.stringify(value)).toBe(JSON.stringify(reference));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("parseJson, case by case", () => {
  it.each([
    ["", "the body is empty"],
    ["  ", "the body ends at byte 2 (line 1), expected a value"],
    ['{"a":', "the body ends at byte 5 (line 1), expected a value"],
    ['{"a":1', "the body ends at byte 6 (line 1), expected `,` or `}`"],
    ['{\n"é" 1}', "the body is not valid JSON at byte 7 (line 2), expected `:`"],
    ["[1,]", "the body is not valid JSON at byte 3 (line 1), expected a value"],
    ['{"a":1,}', "the body is not valid JSON at byte 7 (line 1), expected a member name"],
    ["{} {}", "the body is not valid JSON at byte 3 (line 1), expected one value only"],
    ['"a\nb"', "the body is not valid JSON at byte 0 (line 1), expected a well-formed string"],
    ["\ufeff{}", "the body is not valid JSON at byte 0 (line 1), expected a value"],
    ["01", "the body is not valid JSON at byte 1 (line 1), expected one value only"],
    ["NaN", "the body is not valid JSON at byte 0 (line 1), expected a value"],
  ])("refuses %j and says where", (text, detail) => {
    const fault = faultOf(text);
    expect([fault.code, fault.detail, fault.errors]).toEqual(["malformed_body", detail, []]);
  });

  it.each([
    Buffer.from([0x22, 0xff, 0x22]),
    Buffer.from([0x22, 0xc0, 0xaf, 0x22]),
    Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
    Buffer.from([0x7b, 0xe2, 0x82]),
    Buffer.concat([Buffer.from("[".repeat(50)), Buffer.from([0xff])]),
  ])("refuses bytes that are not UTF-8", (bytes) => {
    expect(faultOf(bytes).detail).toBe("the body is not valid UTF-8");
  });

  it.each([
    ['{"a":"x","\\u0061":"y"}', "/a", "duplicate"],
    ['{"__proto__":1,"__proto__":2}', "/__proto__", "duplicate"],
    ['{"x":[{"k":{"a":1,"b":2,"a":3}}]}', "/x/0/k/a", "duplicate"],
    ['{"stakes":1e400}', "/stakes", "range"],
    ['{"a":[0,-1e999]}', "/a/1", "range"],
    ["1e400", "", "range"],
    ['{"a":"\\ud800"}', "/a", "format"],
    ['["\\udc00\\ud800"]', "/0", "format"],
    ['{"a/b":{"c~d":1e400}}', "/a~1b/c~0d", "range"],
  ])("refuses %s with its pointer", (text, pointer, code) => {
    const fault = faultOf(text);
    expect(fault.code).toBe("invalid_request");
    expect(fault.errors.map((error) => [error.pointer, error.code])).toEqual([[pointer, code]]);
  });

  it("takes nesting up to the limit and points at what lies below it", () => {
    const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
    expect(parseJson(Buffer.from(deep(JSON_DEPTH_MAX)))).toBeTypeOf("object");
    const fault = faultOf(deep(JSON_DEPTH_MAX + 1));
    expect(fault.code).toBe("malformed_body");
    expect(fault.errors).toEqual([
      {
        pointer: "/a".repeat(JSON_DEPTH_MAX),
        code: "depth",
        detail: "nested deeper than 8 levels",
      },
    ]);
    expect(faultOf("[".repeat(1_000_000)).errors[0]?.code).toBe("depth");
  });

  it("keeps `__proto__` a plain member and brackets in strings plain text", () => {
    const value = parseJson(Buffer.from('{"__proto__":{"admin":true},"a":"[[[[[[[[[[{:"}'));
    expect(Object.keys(value as object)).toEqual(["__proto__", "a"]);
    expect(({} as Record<string, unknown>)["admin"]).toBeUndefined();
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it("takes a well-formed surrogate pair written as escapes", () => {
    expect(parseJson(Buffer.from('"\\ud83d\\ude00 \\\\ud800"'))).toBe("😀 \\ud800");
  });

  it("keeps pointers and details short and free of the body", () => {
    const long = "n".repeat(5000);
    const fault = faultOf(`{"${long}":1,"${long}":2}`);
    expect(fault.errors[0]?.pointer.length).toBeLessThan(600);
    expect(fault.detail.length).toBeLessThan(700);
    expect(faultOf('{"secret":"hunter2" x').detail).not.toContain("hunter2");
  });
});

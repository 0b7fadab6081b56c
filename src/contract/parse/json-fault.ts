// Slow, exact reader behind json.ts: walks a refused JSON text and says what is wrong
// first and where (byte, line, RFC 6901 pointer). Builds no value; runs only for refused bodies.
import { JSON_DEPTH_MAX, POINTER_LENGTH_MAX } from "../limits.ts";
import type { FieldError, FieldErrorCode } from "../faults.ts";

/** `error` is absent for a syntax error: there is no member to point at. */
export interface JsonFault {
  detail: string;
  error: FieldError | undefined;
}

/** The first fault of `text`, or undefined when it is JSON that the contract accepts. */
export function findJsonFault(text: string): JsonFault | undefined {
  const reader = new JsonFaultReader(text);
  try {
    reader.readDocument();
  } catch (thrown) {
    if (thrown instanceof JsonFaultSignal) return thrown.fault;
    throw thrown;
  }
  return undefined;
}

/** The pointer of a path, cut when a caller's names make it absurdly long. */
export function buildJsonPointer(path: readonly (string | number)[]): string {
  let pointer = "";
  for (const step of path) {
    pointer += `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (pointer.length > POINTER_LENGTH_MAX) return `${pointer.slice(0, POINTER_LENGTH_MAX)}...`;
  }
  return pointer.toWellFormed();
}

/** Carries the first fault out of the recursion; never leaves this file. */
class JsonFaultSignal extends Error {
  readonly fault: JsonFault;

  constructor(fault: JsonFault) {
    super(fault.detail);
    this.fault = fault;
  }
}

const WHITESPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// Runs of plain characters (space and up, no quote, no backslash) with an escape between two runs.
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*"/y;
const LITERAL = /true|false|null/y;

class JsonFaultReader {
  readonly #text: string;
  readonly #path: (string | number)[] = [];
  #offset = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readDocument(): void {
    this.#readValue(0);
    if (this.#offset < this.#text.length) throw this.#createSyntaxFault("one value only");
  }

  #readValue(depth: number): void {
    this.#match(WHITESPACE);
    const next = this.#text[this.#offset];
    if (next === "{" || next === "[") {
      if (depth === JSON_DEPTH_MAX) {
        throw this.#createMemberFault("depth", `nested deeper than ${JSON_DEPTH_MAX} levels`);
      }
      this.#offset += 1;
      if (next === "{") this.#readMembers(depth + 1);
      else this.#readItems(depth + 1);
    } else if (next === '"') {
      this.#readString();
    } else if (!this.#readNumber() && this.#match(LITERAL) === undefined) {
      throw this.#createSyntaxFault("a value");
    }
    this.#match(WHITESPACE);
  }

  #readMembers(depth: number): void {
    const names = new Set<string>();
    this.#match(WHITESPACE);
    if (this.#skipCharacter("}")) return;
    for (;;) {
      this.#match(WHITESPACE);
      if (this.#text[this.#offset] !== '"') throw this.#createSyntaxFault("a member name");
      const name = this.#readString();
      this.#path.push(name);
      if (names.has(name))
        throw this.#createMemberFault("duplicate", "member is given more than once");
      names.add(name);
      this.#match(WHITESPACE);
      if (!this.#skipCharacter(":")) throw this.#createSyntaxFault("`:`");
      this.#readValue(depth);
      this.#path.pop();
      if (this.#skipCharacter("}")) return;
      if (!this.#skipCharacter(",")) throw this.#createSyntaxFault("`,` or `}`");
    }
  }

  #readItems(depth: number): void {
    this.#match(WHITESPACE);
    if (this.#skipCharacter("]")) return;
    for (let index = 0; ; index += 1) {
      this.#path.push(index);
      this.#readValue(depth);
      this.#path.pop();
      if (this.#skipCharacter("]")) return;
      if (!this.#skipCharacter(",")) throw this.#createSyntaxFault("`,` or `]`");
    }
  }

  #readString(): string {
    const raw = this.#match(STRING);
    if (raw === undefined) throw this.#createSyntaxFault("a well-formed string");
    const value = JSON.parse(raw) as string;
    if (!value.isWellFormed())
      throw this.#createMemberFault("format", "string holds a lone surrogate");
    return value;
  }

  #readNumber(): boolean {
    const raw = this.#match(NUMBER);
    if (raw === undefined) return false;
    if (!Number.isFinite(Number(raw)))
      throw this.#createMemberFault("range", "number is out of range");
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset;
    const found = pattern.exec(this.#text);
    if (found === null) return undefined;
    this.#offset += found[0].length;
    return found[0];
  }

  #skipCharacter(character: string): boolean {
    if (this.#text[this.#offset] !== character) return false;
    this.#offset += 1;
    return true;
  }

  #createMemberFault(code: FieldErrorCode, detail: string): JsonFaultSignal {
    const pointer = buildJsonPointer(this.#path);
    return new JsonFaultSignal({
      detail: `${detail}: \`${pointer}\``,
      error: { pointer, code, detail },
    });
  }

  #createSyntaxFault(expected: string): JsonFaultSignal {
    const before = this.#text.slice(0, this.#offset);
    const line = before.split("\n").length;
    const where = `byte ${Buffer.byteLength(before)} (line ${line})`;
    const isAtEnd = this.#offset >= this.#text.length;
    const detail = isAtEnd
      ? `the body ends at ${where}, expected ${expected}`
      : `the body is not valid JSON at ${where}, expected ${expected}`;
    return new JsonFaultSignal({ detail, error: undefined });
  }
}

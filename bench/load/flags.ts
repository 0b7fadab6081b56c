// Flags of a bench: numbers that are numbers, words of a list, and where its result goes.
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** @throws Error for what is no number, or less than `min`. */
export function numberOf(flag: string, text: string, min = 0): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < min) {
    throw new Error(`--${flag} takes a number of at least ${min}, not \`${text}\``);
  }
  return value;
}

/** Of a list with commas, each once, ascending. @throws Error as `numberOf`. */
export function numbersOf(flag: string, text: string, min = 0): number[] {
  const numbers = text.split(",").map((each) => numberOf(flag, each, min));
  return [...new Set(numbers)].toSorted((left, right) => left - right);
}

/** Of a list with commas; empty for an empty text. @throws Error for another word. */
export function wordsOf<Word extends string>(
  flag: string,
  text: string,
  words: readonly Word[],
): Word[] {
  const asked = text.split(",").filter((each) => each !== "");
  const unknown = asked.find((each) => !(words as readonly string[]).includes(each));
  if (unknown !== undefined) {
    throw new Error(`--${flag} takes of ${words.join(", ")}, not \`${unknown}\``);
  }
  return words.filter((word) => asked.includes(word));
}

/** One JSON object as the last line of stdout, and in a file for `npm run bench -- plot`. */
export function report(result: object, file: string | undefined): void {
  const text = `${JSON.stringify(result)}\n`;
  if (file !== undefined) {
    mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
    writeFileSync(file, text);
  }
  process.stdout.write(text);
}

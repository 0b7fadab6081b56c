// Head of a reply as text: status codes with their reason phrases, and header lines in one piece.
import { STATUS_CODES } from "node:http";

const LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, phrase]) => [Number(code), `${code} ${phrase}`]),
);

/** `404 Not Found` for 404. */
export function statusLine(status: number): string {
  return LINES.get(status) ?? String(status);
}

/** The lines after the first name as one text: `value`, then `name: value` on a line each. */
export function joinedLines(headers: readonly string[]): string {
  let lines = headers[1] as string;
  for (let index = 2; index < headers.length; index += 2) {
    lines += `\r\n${headers[index]}: ${headers[index + 1]}`;
  }
  return lines;
}

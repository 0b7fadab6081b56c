// Status codes with their reason phrases, as sent by both adapters.
import { STATUS_CODES } from "node:http";

const LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, phrase]) => [Number(code), `${code} ${phrase}`]),
);

/** `404 Not Found` for 404. */
export function statusLine(status: number): string {
  return LINES.get(status) ?? String(status);
}

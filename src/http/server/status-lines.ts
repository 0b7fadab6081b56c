// Status codes with their reason phrases, as sent by both adapters.
import { STATUS_CODES } from "node:http";

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([code, phrase]) => [Number(code), `${code} ${phrase}`]),
);

/** `404 Not Found` for 404. */
export function formatStatusLine(status: number): string {
  return STATUS_LINES.get(status) ?? String(status);
}

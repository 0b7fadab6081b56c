// An operation as a command for a shell: whoever reads the page can try what it describes.
import type { OpenApiParameter } from "./shown.ts";

interface CurlRequest {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly OpenApiParameter[];
  readonly needsKey: boolean;
  /** Media type and text of the body; without a text it stands in a file. */
  readonly body?: { readonly type: string; readonly text: string | undefined };
}

/** A `curl` command; `$BUREAU` is the address of the service, `$KEY` an API key. */
export function formatCurlCommand({
  method,
  path,
  parameters,
  needsKey,
  body,
}: CurlRequest): string {
  const of = (place: string) => parameters.filter((each) => each.in === place);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(formatParameterExample(of("path").find((each) => each.name === name))),
  );
  const query = of("query")
    .filter(({ required, example }) => required === true || example !== undefined)
    .map((each) => `${each.name}=${encodeURIComponent(formatParameterExample(each))}`)
    .join("&");
  const verb = method === "GET" ? "" : `-X ${method} `;
  const lines = [`curl ${verb}"$BUREAU${filled}${query === "" ? "" : `?${query}`}"`];
  if (needsKey) lines.push(`-H "Authorization: Bearer $KEY"`);
  if (body !== undefined) {
    const { type, text } = body;
    const data = text === undefined ? "--data-binary @lines.ndjson" : `-d ${quoteShellWord(text)}`;
    lines.push(`-H ${quoteShellWord(`Content-Type: ${type}`)}`, data);
  } else if (method === "POST") {
    // Else `curl` sends no length, which a `POST` needs.
    lines.push("-d ''");
  }
  return lines.join(" \\\n  ");
}

function formatParameterExample(parameter: OpenApiParameter | undefined): string {
  return String(parameter?.example ?? "...");
}

/** Text as one word of a POSIX shell. */
function quoteShellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

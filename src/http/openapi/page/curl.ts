// An operation as a command for a shell: whoever reads the page can try what it describes.
import type { ShownParameter } from "./shown.ts";

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly ShownParameter[];
  readonly needsKey: boolean;
  /** Media type and text of the body; without a text it stands in a file. */
  readonly body?: { readonly type: string; readonly text: string | undefined };
}

/** A `curl` command; `$BUREAU` is the address of the service, `$KEY` an API key. */
export function curlOf({ method, path, parameters, needsKey, body }: Asked): string {
  const of = (place: string) => parameters.filter((each) => each.in === place);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(exampleText(of("path").find((each) => each.name === name))),
  );
  const query = of("query")
    .filter(({ required, example }) => required === true || example !== undefined)
    .map((each) => `${each.name}=${encodeURIComponent(exampleText(each))}`)
    .join("&");
  const verb = method === "GET" ? "" : `-X ${method} `;
  const lines = [`curl ${verb}"$BUREAU${filled}${query === "" ? "" : `?${query}`}"`];
  if (needsKey) lines.push(`-H "Authorization: Bearer $KEY"`);
  if (body !== undefined) {
    const { type, text } = body;
    const data = text === undefined ? "--data-binary @lines.ndjson" : `-d ${quoted(text)}`;
    lines.push(`-H ${quoted(`Content-Type: ${type}`)}`, data);
  } else if (method === "POST") {
    // Else `curl` sends no length, which a `POST` needs.
    lines.push("-d ''");
  }
  return lines.join(" \\\n  ");
}

function exampleText(parameter: ShownParameter | undefined): string {
  return String(parameter?.example ?? "...");
}

/** Text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

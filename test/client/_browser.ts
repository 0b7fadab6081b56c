// A page in headless Chromium, served over loopback together with the service: the files of a
// project, the service's own paths on the same origin, and a program whose result comes back.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { openPage } from "../_chromium.ts";

const WAIT_MS = 90_000;

/**
 * Runs a module in a page of `project`, with `imports` as its import map; what it passed to the
 * global `finish`, or the error that it ended with.
 */
export async function runInBrowser(options: {
  readonly project: string;
  readonly imports: Readonly<Record<string, string>>;
  readonly program: string;
  /** Address of the service, seen by the page under `/v1` and `/healthz` of its own origin. */
  readonly service: string;
}): Promise<unknown> {
  let finish: (result: unknown) => void = () => undefined;
  const finished = new Promise((resolve) => (finish = resolve));
  const server = http.createServer((request, response) => {
    void answer(request, response, options, finish);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const profile = await mkdtemp(path.join(tmpdir(), "trustrank-browser-"));
  const child = openPage(`http://127.0.0.1:${port}/`, profile);
  let said = "";
  child.stderr?.on("data", (piece: Buffer) => (said = (said + piece.toString()).slice(-2000)));
  const ended = new Promise((resolve) => child.once("close", resolve));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((_resolve, reject) => {
    const fail = () => reject(new Error(`no result from the page: ${said}`));
    timer = setTimeout(fail, WAIT_MS);
    child.once("close", fail);
  });
  try {
    return await Promise.race([finished, late]);
  } finally {
    clearTimeout(timer);
    late.catch(() => undefined);
    child.kill("SIGKILL");
    await ended;
    server.closeAllConnections();
    server.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const PAGE = (imports: object, program: string) => `<!doctype html>
<meta charset="utf-8">
<script type="importmap">${JSON.stringify({ imports })}</script>
<script type="module">
const finish = (result) =>
  fetch("/result", { method: "POST", body: JSON.stringify(result) });
addEventListener("error", ({ message }) => finish({ failed: message }));
addEventListener("unhandledrejection", ({ reason }) => finish({ failed: String(reason) }));
${program}
</script>`;

async function answer(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  options: Parameters<typeof runInBrowser>[0],
  finish: (result: unknown) => void,
): Promise<void> {
  const url = request.url ?? "/";
  if (url === "/result") {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    response.end();
    finish(JSON.parse(Buffer.concat(chunks).toString()));
  } else if (/^\/(v1|healthz)\b/.test(url)) {
    passOn(request, response, options.service);
  } else if (url === "/") {
    response.setHeader("Content-Type", "text/html");
    response.end(PAGE(options.imports, options.program));
  } else {
    const file = await readFile(path.join(options.project, url)).catch(() => undefined);
    response.statusCode = file === undefined ? 404 : 200;
    response.setHeader("Content-Type", "text/javascript");
    response.end(file);
  }
}

function passOn(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  service: string,
): void {
  const { method = "GET", headers } = request;
  const target = new URL(request.url ?? "/", service);
  const onward = http.request(target, { method, headers: { ...headers, host: target.host } });
  onward.on("error", () => response.destroy());
  onward.on("response", (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(response);
  });
  request.pipe(onward);
}

// A real service that is told to end: during the drain window it serves everything and says that it is not
// ready, on one HTTP thread and on two; a second signal and Ctrl-C at a terminal end the window.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { endAll, type Started, startCommand } from "./_process.ts";
import { needs } from "../_needs.ts";

const ADMIN = "an-admin-secret-of-the-operator-0123456789";
/** Longer than any test waits: a window that ends was ended. */
const WINDOW = { TRUSTRANK_ADMIN_KEY: ADMIN, TRUSTRANK_DRAIN_MS: "600000" };
const folder = mkdtempSync(join(tmpdir(), "trustrank-drain-"));

afterAll(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function serve(name: string, ...flags: string[]) {
  const at = ["--json", "--no-sample", "--data-dir", join(folder, name), ...flags];
  const started = startCommand(["serve", ...at], WINDOW);
  const { url } = JSON.parse(await started.firstLine) as { url: string };
  return { started, url };
}

async function expectEnd(started: Started): Promise<void> {
  const { code, signal, stderr } = await started.ended;
  expect({ code, signal }, stderr).toEqual({ code: 0, signal: null });
}

/** On a connection of its own, which the service may end or keep. */
function ask(url: string, path: string, method = "GET", body = "") {
  const headers = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
  const agent = new http.Agent({ keepAlive: true });
  return new Promise<{ status: number; connection: string | undefined; text: string }>(
    (resolve, reject) => {
      const sent = http.request(url + path, { method, headers, agent }, (reply) => {
        let text = "";
        reply.on("data", (piece: Buffer) => (text += piece.toString()));
        const { statusCode: status = 0, headers: got } = reply;
        reply.on("end", () => {
          agent.destroy();
          resolve({ status, connection: got.connection, text });
        });
        reply.on("error", reject);
      });
      sent.on("error", reject);
      sent.end(body);
    },
  );
}

const VERIFY = JSON.stringify({
  agent_id: "agent://test/connect",
  action: "a.b",
  tool_level: "L3",
  context: {},
});
const OUTCOME = JSON.stringify({
  subject: "agent://drain/seller",
  reporter: "agent://drain/buyer",
  outcome: 1,
  stakes: 5,
  grade: "escrow",
});

test.each(["1", "2"])("serves everything until the window ends: %s threads", async (threads) => {
  const socket = join(folder, `${threads}.sock`);
  const listen = ["--listen", `127.0.0.1:0,unix:${socket}`, "--http-threads", threads];
  const { started, url } = await serve(`threads-${threads}`, ...listen);
  expect((await ask(url, "/readyz")).status).toBe(200);
  started.process.kill("SIGTERM");
  await expect.poll(async () => (await ask(url, "/readyz")).status).toBe(503);
  const ready = await ask(url, "/readyz");
  expect(JSON.parse(ready.text)).toMatchObject({ code: "draining", reasons: ["draining"] });
  // Connections that the kernel gives to either thread.
  for (let at = 0; at < 16; at += 1) {
    const verified = await ask(url, "/v1/trust/verify", "POST", VERIFY);
    expect([verified.status, verified.connection]).toEqual([200, "close"]);
  }
  expect((await ask(url, "/v1/outcomes", "POST", OUTCOME)).status).toBe(201);
  expect((await ask(url, "/livez")).status).toBe(200);
  expect(existsSync(socket)).toBe(true);
  started.process.kill("SIGTERM");
  await expectEnd(started);
  expect(existsSync(socket)).toBe(false);
});

const PRESS_CTRL_C = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while b'"url":' not in said: said += os.read(terminal, 65536)
os.write(terminal, b"\\x03")
try:
    while os.read(terminal, 65536): pass
except OSError: pass
print("ended", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

test("ends at once for Ctrl-C at a terminal", needs("python3"), async () => {
  const flags = ["--json", "--port", "0", "--no-sample", "--data-dir", join(folder, "terminal")];
  const pressed = startCommand(["serve", ...flags], WINDOW, ["python3", "-c", PRESS_CTRL_C]);
  expect((await pressed.ended).stdout).toBe("ended 0\n");
});

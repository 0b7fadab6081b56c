// Proxies that end TLS in front of a socket, as docs/operate/deploy.md has them: the real nginx, Caddy and
// HAProxy before the real service.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import https from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endAll, startCommand, type Started } from "../cli/_process.ts";
import { freePort } from "../_ports.ts";
import { heard, ROOT } from "./_read-only.ts";
import { needs } from "../_needs.ts";

const ADMIN = "an-admin-secret-of-the-operator-0123456789";
const PAGE = fs.readFileSync(join(ROOT, "docs/operate/deploy.md"), "utf8");
const folder = fs.mkdtempSync("/tmp/trustrank-proxies-");
const socket = join(folder, "http.sock");
const ENVIRONMENT = { PATH: `${process.env["PATH"]}:/usr/sbin`, HOME: folder };
const children: ChildProcess[] = [];
let service: Started;

/** The page's example, over paths and a port that are there. */
function example(language: string, port: number): string {
  const text = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "m").exec(PAGE)?.[1];
  if (text === undefined) throw new Error(`the page has no example for ${language}`);
  return text
    .replaceAll("/run/trustrank/http.sock", socket)
    .replaceAll("/etc/ssl/", `${folder}/`)
    .replace(/listen 443/, `listen 127.0.0.1:${port}`)
    .replace(/bind :443/, `bind 127.0.0.1:${port}`)
    .replace(/https:\/\/trust\.example/, `https://trust.example:${port}`);
}

const PROXIES = {
  nginx(port: number): string[] {
    const file = join(folder, "nginx.conf");
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${folder}/nginx-${name};`,
    );
    const head = `daemon off; pid ${folder}/nginx.pid; events {}`;
    fs.writeFileSync(
      file,
      `${head}\nhttp { access_log off; ${paths.join(" ")}\n${example("nginx", port)}}`,
    );
    return ["nginx", "-e", "stderr", "-c", file];
  },
  caddy(port: number): string[] {
    const file = join(folder, "Caddyfile");
    const head = "{\n  admin off\n  auto_https off\n}\n";
    fs.writeFileSync(file, head + example("caddyfile", port));
    return ["caddy", "run", "--adapter", "caddyfile", "--config", file];
  },
  haproxy(port: number): string[] {
    const file = join(folder, "haproxy.cfg");
    fs.writeFileSync(file, `defaults\n  timeout client 30s\n${example("haproxy", port)}`);
    return ["haproxy", "-db", "-f", file];
  },
};

beforeAll(async () => {
  const at = (name: string) => join(folder, name);
  const subject = ["-subj", "/CN=trust.example", "-addext", "subjectAltName=DNS:trust.example"];
  const files = ["-keyout", at("trust.example.key"), "-out", at("trust.example.pem")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  execFileSync("openssl", ["req", ...kind, ...subject, ...files], { stdio: "ignore" });
  const both = ["trust.example.pem", "trust.example.key"].map((name) => fs.readFileSync(at(name)));
  fs.writeFileSync(at("trust.example.both.pem"), Buffer.concat(both));
  // nginx gives up root, and must reach the socket then.
  fs.chmodSync(folder, 0o755);
  const flags = ["--no-sample", "--data-dir", at("data"), "--listen", `unix:${socket}`];
  service = startCommand(["serve", "--json", "--socket-mode", "0666", ...flags], {
    TRUSTRANK_ADMIN_KEY: ADMIN,
  });
  await service.firstLine;
});

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await endAll();
  fs.rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  status: number;
  text: string;
}

function ask(port: number, path: string, agent: https.Agent): Promise<Answer> {
  const headers = { authorization: `Bearer ${ADMIN}`, host: "trust.example" };
  const ca = fs.readFileSync(join(folder, "trust.example.pem"));
  const options = {
    host: "127.0.0.1",
    port,
    path,
    headers,
    ca,
    servername: "trust.example",
    agent,
  };
  return new Promise((resolve, reject) => {
    const sent = https.get(options, (reply) => {
      let text = "";
      reply.on("data", (piece) => (text += String(piece)));
      reply.on("end", () => resolve({ status: reply.statusCode ?? 0, text }));
    });
    sent.on("error", reject);
  });
}

describe.each(Object.keys(PROXIES) as (keyof typeof PROXIES)[])("%s", (name) => {
  test("ends TLS in front of the socket", needs(name), async () => {
    const port = await freePort();
    const [program, ...flags] = PROXIES[name](port);
    const child = spawn(program!, flags, { env: ENVIRONMENT, stdio: ["ignore", "pipe", "pipe"] });
    children.push(child);
    const { ended, text } = heard(child);
    const agent = new https.Agent({ keepAlive: true });
    const statusOf = async (): Promise<number | string> => {
      const failed = (error: Error) => ({ status: 0, text: error.message });
      const answer = await ask(port, "/readyz", agent).catch(failed);
      return answer.text.includes('"ready":true') ? answer.status : `${answer.text} ${text()}`;
    };
    await expect.poll(statusOf).toBe(200);
    const agents = await ask(port, "/v1/agents/agent%3A%2F%2Ftest%2Frefuse?stakes=1", agent);
    expect([agents.status, agents.text]).toEqual([200, expect.stringContaining("refuse")]);
    // The service behind one socket, many times: connections to it are used again.
    const many = Array.from({ length: 50 }, () => ask(port, "/readyz", agent));
    expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([200]));
    agent.destroy();
    child.kill("SIGTERM");
    await ended;
  });
});

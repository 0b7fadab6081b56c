// The systemd unit: systemd's own check of it, and its command line run as it says.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { layerSettings } from "../../src/service/settings/config-file.ts";
import { EXIT_DAMAGED, EXIT_USAGE } from "../../src/service/failure.ts";
import { freePort } from "../_ports.ts";
import { heard, openSandbox, ROOT, SANDBOX } from "./_read-only.ts";
import { needs } from "../_needs.ts";

const FOLDER = join(ROOT, "deploy/systemd");
const UNIT = readFileSync(join(FOLDER, "trustrank.service"), "utf8");
const KEY = "unit-admin-key-0123456789-abcdefghijkl";

function settingOf(name: string): string {
  return new RegExp(`^${name}=(.*)$`, "m").exec(UNIT)?.[1] ?? "";
}

test("comes with settings that can be meant", () => {
  const { environment } = layerSettings({}, join(FOLDER, "trustrank.yaml"));
  const state = `/var/lib/${settingOf("StateDirectory")}`;
  expect(environment["TRUSTRANK_DATA_DIR"]).toBe(state);
  expect(settingOf("WorkingDirectory")).toBe(state);
});

test("does not start again what only a person can mend", () => {
  expect(settingOf("RestartPreventExitStatus")).toBe(`${EXIT_USAGE} ${EXIT_DAMAGED}`);
});

describe("to systemd-analyze", needs("systemd-analyze"), () => {
  const folder = mkdtempSync(join(tmpdir(), "trustrank-unit-"));
  const path = join(folder, "trustrank.service");
  // Its command is not installed here, and neither is the key.
  writeFileSync(path, UNIT.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("has nothing to complain of", () => {
    const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", path], {
      encoding: "utf8",
    });
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: "" });
  });

  test("is little exposed (2.0 of 10 at the most)", () => {
    const flags = ["security", "--offline=true", "--threshold=20", "--no-pager", path];
    const { status, stdout } = spawnSync("systemd-analyze", flags, { encoding: "utf8" });
    expect(status, stdout.split("\n").slice(-3).join("\n")).toBe(0);
  });
});

describe("runs read-only", SANDBOX, () => {
  const sandbox = openSandbox({
    command: "/opt/trustrank",
    data: settingOf("WorkingDirectory"),
  });
  afterAll(() => sandbox.remove());

  test("with its file of settings, and the key as a credential", async () => {
    const folder = mkdtempSync("/var/tmp/trustrank-credentials-");
    try {
      const [, ...parameters] = settingOf("ExecStart").split(" ");
      const settings = join(folder, "trustrank.yaml");
      const port = await freePort();
      const shipped = readFileSync(join(FOLDER, "trustrank.yaml"), "utf8");
      writeFileSync(settings, shipped.replace(/^port: .*$/m, `port: ${port}`));
      const credential = /^LoadCredential=([^:]+):/m.exec(UNIT)![1]!;
      writeFileSync(join(folder, credential), `${KEY}\n`, { mode: 0o644 });
      spawnSync("chmod", ["-R", "a+rX", folder]);
      const argv = ["node", "/opt/trustrank/src/cli/bin.js", ...parameters].map((each) =>
        each.endsWith(".yaml") ? settings : each,
      );
      const [name = "", value = ""] = settingOf("Environment").split("=");
      const service = sandbox.start(argv, {
        [name]: value,
        CREDENTIALS_DIRECTORY: folder,
        TRUSTRANK_DRAIN_MS: "0",
      });
      const { ended, text } = heard(service);
      const headers = { authorization: `Bearer ${KEY}` };
      const ask = () =>
        fetch(`http://127.0.0.1:${port}/v1/keys`, { headers }).then(
          ({ status }) => status,
          () => 0,
        );
      await expect.poll(ask, { interval: 200 }).toBe(200);
      expect(text()).not.toContain(KEY);
      service.kill("SIGTERM");
      expect(await ended, text()).toBe(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

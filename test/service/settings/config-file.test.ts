// Settings from a file and from files of secrets: what wins, and what is said of a mistake.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { layerSettings, convertToSnakeCase } from "../../../src/service/settings/config-file.ts";
import { InvalidSetting, readSetting, SETTINGS } from "../../../src/service/settings/settings.ts";
import { runCommand } from "../../cli/_process.ts";

const KEY = "k".repeat(40);
const folder = mkdtempSync(join(tmpdir(), "trustrank-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileOf(text: string, name = "trustrank.yaml"): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function complaintOf(text: string): string {
  try {
    layerSettings({}, fileOf(text));
  } catch (error) {
    if (error instanceof InvalidSetting) return error.message.replaceAll(folder, "");
    throw error;
  }
  return "";
}

describe("a file of settings", () => {
  test("gives what the environment leaves unset", () => {
    const path = fileOf("port: 9000\nhost: 10.0.0.1\nkaizen: false\nseeds: [agent://a/b, keys]\n");
    const { environment, origins } = layerSettings({ PORT: "9001", TRUSTRANK_HOST: "" }, path);
    expect(readSetting("port", undefined, environment)).toBe(9001);
    expect(readSetting("port", "9002", environment)).toBe(9002);
    expect(readSetting("host", undefined, environment)).toBe("10.0.0.1");
    expect(readSetting("kaizen", undefined, environment)).toBe(false);
    expect(environment["TRUSTRANK_SEEDS"]).toBe("agent://a/b,keys");
    expect(origins.get("TRUSTRANK_HOST")).toBe(`${path}:2`);
    expect(origins.has("TRUSTRANK_PORT")).toBe(false);
  });

  test("may be empty", () => {
    expect(layerSettings({ PORT: "1" }, fileOf("# nothing yet\n")).environment).toEqual({
      PORT: "1",
    });
  });

  test("is told every mistake with its line and its member", () => {
    expect(complaintOf("port: http\nhost: a\nprot: 1\nscoring: {}\n").split("\n")).toEqual([
      "/trustrank.yaml:1: /port: `http` is not a whole number from 0 to 65535",
      "/trustrank.yaml:3: /prot: there is no such setting",
      "/trustrank.yaml: /scoring: expected a text, a number, true or false, or a list of texts",
    ]);
    expect(complaintOf("dataDir: x\n")).toContain("`data_dir` is meant?");
    expect(complaintOf("TRUSTRANK_HOST: x\n")).toContain("`host` is meant?");
    expect(complaintOf("config: other.yaml\n")).toContain("/config: there is no such setting");
    expect(complaintOf("- port\n")).toContain("expected names of settings");
    expect(complaintOf("port: 1\nport: 2\n")).toContain("Map keys must be unique");
  });

  test("never has a secret repeated", () => {
    expect(complaintOf("admin_key: short-secret\n")).not.toContain("short-secret");
  });

  test("has aliases refused: a page of them is the size of memory", () => {
    expect(() => layerSettings({}, fileOf("host: &a x\nservice_id: *a\n"))).toThrow(/alias/i);
  });

  test("is refused in words, whatever it holds", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        try {
          layerSettings({}, fileOf(text, "any.yaml"));
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidSetting);
        }
      }),
      { numRuns: 200, seed: 7 },
    );
  });

  test("takes every setting that has a variable, by one name", () => {
    const names = Object.keys(SETTINGS).map(convertToSnakeCase);
    expect(new Set(names).size).toBe(names.length);
    expect(convertToSnakeCase("dataDir")).toBe("data_dir");
  });
});

describe("a secret", () => {
  test("is read from the file that its variable names, without the last newline", () => {
    const path = fileOf(`${KEY}\n`, "admin-key");
    const { environment, origins } = layerSettings({ TRUSTRANK_ADMIN_KEY_FILE: path }, undefined);
    expect(environment["TRUSTRANK_ADMIN_KEY"]).toBe(KEY);
    expect(origins.get("TRUSTRANK_ADMIN_KEY")).toBe(path);
  });

  test("is read from the file that the settings name", () => {
    const secret = fileOf(KEY, "admin-key");
    const path = fileOf(`admin_key_file: ${secret}\n`);
    expect(layerSettings({}, path).environment["TRUSTRANK_ADMIN_KEY"]).toBe(KEY);
  });

  test("is a credential of the service manager", () => {
    fileOf(KEY, "TRUSTRANK_ADMIN_KEY");
    const { environment } = layerSettings({ CREDENTIALS_DIRECTORY: folder }, undefined);
    expect(environment["TRUSTRANK_ADMIN_KEY"]).toBe(KEY);
  });

  test("is not taken from two places, nor from a file that is not there", () => {
    const twice = { TRUSTRANK_ADMIN_KEY: KEY, TRUSTRANK_ADMIN_KEY_FILE: "/nowhere" };
    expect(() => layerSettings(twice, undefined)).toThrow(/both set/);
    const gone = { TRUSTRANK_ADMIN_KEY_FILE: "/nowhere" };
    expect(() => layerSettings(gone, undefined)).toThrow(/TRUSTRANK_ADMIN_KEY_FILE: .*ENOENT/);
  });
});

test("`config check` tells each value and its place, and hides secrets", async () => {
  const path = fileOf(`port: 9000\nadmin_key: ${KEY}\n`);
  const told = await runCommand(["config", "check", path], { TRUSTRANK_HOST: "::1" });
  expect(told.code).toBe(0);
  expect(told.stdout).toMatch(new RegExp(`^port +9000 +${path}:1$`, "m"));
  expect(told.stdout).toMatch(/^host +::1 +TRUSTRANK_HOST$/m);
  expect(told.stdout).toMatch(/^admin_key +\(set\) /m);
  expect(told.stdout + told.stderr).not.toContain(KEY);
  const wrong = await runCommand(["serve", "--config", fileOf("port: x\n")]);
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
  expect(wrong.stderr).toContain(":1: /port: `x` is not a whole number");
});

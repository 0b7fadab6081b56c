// The table of settings: what each value must be, what a refusal names, and that the reference page
// and the help are written from it.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import {
  renderConfigurationPage,
  describeVariables,
} from "../../../src/service/settings/settings-text.ts";
import {
  InvalidSetting,
  readSetting,
  type SettingName,
  SETTINGS,
} from "../../../src/service/settings/settings.ts";
import type { Setting } from "../../../src/service/settings/setting-kinds.ts";
import { runCommand } from "../../cli/_process.ts";

const PAGE = new URL("../../../docs/reference/configuration.md", import.meta.url);

/** A value that the setting does not take, by variable. */
const REFUSED: readonly [SettingName, string, string][] = [
  ["port", "TRUSTRANK_PORT", "65536"],
  ["port", "PORT", "http"],
  ["httpAdapter", "TRUSTRANK_HTTP_ADAPTER", "apache"],
  ["httpThreads", "TRUSTRANK_HTTP_THREADS", "0"],
  ["metricsListen", "TRUSTRANK_METRICS_LISTEN", "9464"],
  ["metricsListen", "TRUSTRANK_METRICS_LISTEN", "127.0.0.1:65536"],
  ["grpcPort", "TRUSTRANK_GRPC_PORT", "on"],
  ["grpcCaller", "TRUSTRANK_GRPC_CALLER", "header:X-Agent"],
  ["scoring", "SCORING", "outside"],
  ["adminKey", "TRUSTRANK_ADMIN_KEY", "s3cret"],
  ["adminKey", "TRUSTRANK_ADMIN_KEY", `s3cret ${"x".repeat(32)}`],
  ["serviceId", "TRUSTRANK_SERVICE_ID", "x".repeat(257)],
  ["requireSignature", "OUTCOMES_REQUIRE_SIGNATURE", "true"],
  ["snapshotOutcomes", "TRUSTRANK_SNAPSHOT_OUTCOMES", "0"],
  ["diskReserveMb", "TRUSTRANK_DISK_RESERVE_MB", "1.5"],
  ["scrubHours", "TRUSTRANK_SCRUB_HOURS", "500.1"],
  ["archiveEvery", "TRUSTRANK_ARCHIVE_EVERY_SECONDS", "0.5"],
  ["archiveEvery", "TRUSTRANK_ARCHIVE_EVERY_SECONDS", "301s"],
  ["archiveEvery", "TRUSTRANK_ARCHIVE_EVERY_SECONDS", "10m"],
  ["rateScore", "TRUSTRANK_RATE_SCORE", "10/"],
  ["rateOutcomes", "TRUSTRANK_RATE_OUTCOMES", "0"],
  ["decisionsMbPerDay", "TRUSTRANK_DECISIONS_MB_PER_DAY", "0"],
  ["decisionsKeptDays", "TRUSTRANK_DECISIONS_KEPT_DAYS", "0"],
  ["outcomesKeptDays", "TRUSTRANK_OUTCOMES_KEPT_DAYS", "100000"],
  ["queryMemoryMb", "TRUSTRANK_QUERY_MEMORY_MB", "1023"],
  ["unitOfAccount", "TRUSTRANK_UNIT_OF_ACCOUNT", "US dollars"],
  ["unitOfAccount", "TRUSTRANK_UNIT_OF_ACCOUNT", "x".repeat(17)],
  ["timeZone", "TRUSTRANK_TIME_ZONE", "Berlin"],
  ["kaizen", "TRUSTRANK_KAIZEN", "never"],
  ["kaizenRows", "TRUSTRANK_KAIZEN_ROWS", "99999"],
  ["kaizenEvidence", "TRUSTRANK_KAIZEN_EVIDENCE", "reporter,signed"],
  ["kaizenEvidence", "TRUSTRANK_KAIZEN_EVIDENCE", "import,import"],
  ["kaizenEvidence", "TRUSTRANK_KAIZEN_EVIDENCE", "none"],
  ["kaizenEvidence", "TRUSTRANK_KAIZEN_EVIDENCE", ","],
  ["seeds", "TRUSTRANK_SEEDS", "everybody"],
  ["credibility", "TRUSTRANK_CREDIBILITY", "maybe"],
  ["testAgents", "TRUSTRANK_TEST_AGENTS", "yes"],
];

describe("settings", () => {
  it.each(REFUSED)("%s: %s does not take %s, and the refusal names it", (name, variable, value) => {
    const read = () => readSetting(name, undefined, { [variable]: value });
    expect(read).toThrow(InvalidSetting);
    expect(read).toThrow(new RegExp(`^${variable}: `));
  });

  it("name the flag where the flag is wrong, whatever the environment says", () => {
    const read = () => readSetting("port", "x", { TRUSTRANK_PORT: "1" });
    expect(read).toThrow("--port: `x` is not a whole number from 0 to 65535");
  });

  it("take kinds of evidence in any order, spaces around them included", () => {
    const read = (text: string) => readSetting("kaizenEvidence", text, {});
    expect(read("import, reporter")).toEqual(["reporter", "import"]);
    expect(read("bureau")).toEqual(["bureau"]);
    expect(() => read("bureaus")).toThrow(
      "--kaizen-evidence: `bureaus` is not a list with commas of one or more of `reporter`, `bureau`, `import`, each once",
    );
  });

  it("never repeat a secret", () => {
    const read = () => readSetting("adminKey", undefined, { TRUSTRANK_ADMIN_KEY: "s3cret" });
    expect(read).toThrow(/^(?!.*s3cret)/);
  });

  it.each(["on", "1"])("switch on with %s", (word) => {
    expect(readSetting("requireSignature", undefined, { OUTCOMES_REQUIRE_SIGNATURE: word })).toBe(
      true,
    );
  });

  it.each(["off", "0"])("switch off with %s", (word) => {
    expect(readSetting("kaizen", undefined, { TRUSTRANK_KAIZEN: word })).toBe(false);
  });

  it("take their own defaults", () => {
    const defaults = Object.values<Setting>(SETTINGS).filter((setting) =>
      ["string", "number"].includes(typeof setting.default),
    );
    expect(defaults.length).toBeGreaterThan(5);
    for (const { kind, default: value } of defaults) expect(kind.read(String(value))).toBe(value);
  });

  it("stand in docs/reference/configuration.md as they are: npm run docs:reference", () => {
    expect(readFileSync(PAGE, "utf8")).toBe(renderConfigurationPage());
    for (const { flag, variables } of Object.values<Setting>(SETTINGS)) {
      for (const name of [...variables, ...(flag === undefined ? [] : [flag])]) {
        expect(renderConfigurationPage()).toContain(`\`${name}\``);
      }
    }
  });

  it("stand in the help of serve, each flag and each variable", async () => {
    const { stdout } = await runCommand(["serve", "--help"]);
    for (const { flag, variables, readBy } of Object.values<Setting>(SETTINGS)) {
      if (readBy === "commands") continue;
      for (const name of [...variables, ...(flag === undefined ? [] : [flag])]) {
        expect(stdout).toContain(name);
      }
    }
    for (const line of describeVariables()) expect(stdout).toContain(line);
  });
});

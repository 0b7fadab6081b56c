// Settings: what wins, what is refused, and what output looks like.
import { describe, expect, it } from "vitest";

import { formatTable } from "../../../src/cli/output.ts";
import {
  parseDataDirectory,
  parseServeConfig,
  parseServerAccess,
} from "../../../src/service/settings/config.ts";
import { InvalidSetting } from "../../../src/service/settings/settings.ts";

const flags = { sample: true };

function isEnabled(environment: Record<string, string>): boolean {
  return parseServeConfig(flags, environment).isReservedEnabled;
}

describe("settings of serve", () => {
  it("have defaults", () => {
    expect(parseServeConfig(flags, {})).toEqual({
      log: { level: "info", format: undefined },
      watch: { accessLogShare: 0, traces: undefined },
      host: "127.0.0.1",
      port: 8080,
      isTcpWanted: true,
      sockets: { paths: [], mode: 0o660, group: undefined },
      dataDir: expect.stringMatching(/\/data\/local$/),
      ownerWaitMs: 10_000,
      isSampleWanted: true,
      adminKey: undefined,
      isReservedEnabled: true,
      isKaizenScheduled: true,
      kaizenRows: 2_000_000,
      kaizenEvidence: undefined,
      serviceId: undefined,
      isSignatureRequired: false,
      scoring: "auto",
      isCredibilityWanted: undefined,
      seeds: undefined,
      sourcesPerTenant: 65_536,
      console: {
        mode: "loopback",
        hosts: [],
        isInsecure: false,
        isBoundToLoopback: true,
        unitOfAccount: "unit",
      },
      journal: {
        snapshotOutcomes: 500_000,
        reserveBytes: 64 * 1024 * 1024,
        tableBytesMax: 4_293_656_574,
        newcomersPerHour: { agents: 100_000, pairs: 1_000_000 },
        scrubEveryMs: 86_400_000,
      },
      archive: undefined,
      webhookAllow: undefined,
      decisionsKeptDays: 90,
      outcomesKeptDays: 396,
      provenanceKeptDays: 396,
      storeMemoryMegabytes: 512,
      timeZone: "UTC",
      queryMemoryMegabytes: 1024,
      decisionsBytesPerDay: 8192 * 1024 * 1024,
      queueMsMax: 25,
      httpThreads: 1,
      drainMs: 5000,
      httpAdapter: "auto",
      metricsListen: undefined,
      grpc: undefined,
      rateLimits: { outcomes: { perSecond: 1000, burst: 100_000 } },
    });
  });

  it("name an archive beside the working directory, and how often it is shipped to", () => {
    const working = { INIT_CWD: "/srv", TRUSTRANK_ARCHIVE_EVERY_SECONDS: "2.5" };
    const archiveOf = (more: object, environment: Record<string, string>) =>
      parseServeConfig({ ...flags, ...more }, environment).archive;
    expect(archiveOf({ archive: "copy" }, working)).toEqual({
      directory: "/srv/copy",
      everyMs: 2500,
    });
    expect(archiveOf({ archiveEvery: "30s" }, { TRUSTRANK_ARCHIVE: "/mnt/a" })).toEqual({
      directory: "/mnt/a",
      everyMs: 30_000,
    });
  });

  it("say which requests are logged, and where spans go", () => {
    const watchOf = (environment: Record<string, string>, accessLog?: string) =>
      parseServeConfig({ ...flags, ...(accessLog === undefined ? {} : { accessLog }) }, environment)
        .watch;
    expect(watchOf({ TRUSTRANK_ACCESS_LOG: "0.01" })).toEqual({
      accessLogShare: 0.01,
      traces: undefined,
    });
    expect(watchOf({ TRUSTRANK_ACCESS_LOG: "0.01" }, "1").accessLogShare).toBe(1);
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };
    const url = "http://collector:4318/v1/traces";
    const sampled = (OTEL_TRACES_SAMPLER: string, OTEL_TRACES_SAMPLER_ARG = "0.25") =>
      watchOf({ ...endpoint, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG }).traces;
    expect(watchOf(endpoint).traces).toEqual({ url, shares: { share: 1, isParentBased: true } });
    expect(sampled("traceidratio")?.shares).toEqual({ share: 0.25, isParentBased: false });
    expect(sampled("parentbased_traceidratio")?.shares).toEqual({
      share: 0.25,
      isParentBased: true,
    });
    expect(sampled("parentbased_always_off")?.shares).toEqual({ share: 0, isParentBased: true });
    expect(sampled("always_on")?.shares).toEqual({ share: 1, isParentBased: false });
    expect(sampled("always_off")).toBeUndefined();
    const whole = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://c/own", ...endpoint };
    expect(watchOf(whole).traces?.url).toBe("https://c/own");
    expect(watchOf({ ...endpoint, OTEL_SDK_DISABLED: "true" }).traces).toBeUndefined();
    // Meant for other programs: refused only where it would be asked.
    expect(watchOf({ OTEL_TRACES_SAMPLER: "xray" }).traces).toBeUndefined();
    expect(() => sampled("xray")).toThrow("OTEL_TRACES_SAMPLER: `xray` is not one of");
    for (const wrong of ["collector:4317", "unix:/x", "http://"]) {
      const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: wrong };
      expect(() => watchOf(environment), wrong).toThrow(InvalidSetting);
    }
    expect(() => watchOf({ TRUSTRANK_ACCESS_LOG: "2" })).toThrow(InvalidSetting);
  });

  it("say whom the operator vouches for", () => {
    const seeds = " agent://acme/buyer, agent://globex/*,keys ";
    expect(
      parseServeConfig(flags, { TRUSTRANK_SEEDS: seeds, TRUSTRANK_CREDIBILITY: "off" }),
    ).toMatchObject({
      isCredibilityWanted: false,
      seeds: {
        agents: ["agent://acme/buyer"],
        namespaces: ["agent://globex/"],
        hasKeys: true,
        hasEarliest: false,
      },
    });
    for (const wrong of ["acme", "agent://acme", "agent://*/x", "agent://acme/*/x", "everybody"]) {
      expect(() => parseServeConfig(flags, { TRUSTRANK_SEEDS: wrong }), wrong).toThrow(
        InvalidSetting,
      );
    }
    expect(() => parseServeConfig(flags, { TRUSTRANK_CREDIBILITY: "maybe" })).toThrow(
      InvalidSetting,
    );
  });

  it("keep a part of the disk free, as large as wanted", () => {
    const bytes = (text: string) =>
      parseServeConfig(flags, { TRUSTRANK_DISK_RESERVE_MB: text }).journal.reserveBytes;
    expect(bytes("8")).toBe(8 * 1024 * 1024);
    expect(bytes("0")).toBe(0);
    expect(() => bytes("much")).toThrow(InvalidSetting);
  });

  it("look at the journal's old segments as often as wanted", () => {
    const everyMs = (text: string) =>
      parseServeConfig(flags, { TRUSTRANK_SCRUB_HOURS: text }).journal.scrubEveryMs;
    expect(everyMs("168")).toBe(168 * 3_600_000);
    expect(everyMs("0.5")).toBe(1_800_000);
    expect(everyMs("0")).toBeUndefined();
    for (const wrong of ["often", "-1", "501"])
      expect(() => everyMs(wrong)).toThrow(InvalidSetting);
  });

  it("say who signatures are for, and whether they must be there", () => {
    const environment = { TRUSTRANK_SERVICE_ID: "bureau.example", OUTCOMES_REQUIRE_SIGNATURE: "1" };
    const expected = { serviceId: "bureau.example", isSignatureRequired: true };
    expect(parseServeConfig(flags, environment)).toMatchObject(expected);
    const spaced = { TRUSTRANK_SERVICE_ID: "two words" };
    expect(() => parseServeConfig(flags, spaced)).toThrow(InvalidSetting);
  });

  it("come from flags before the environment, and an empty variable is unset", () => {
    const environment = {
      TRUSTRANK_PORT: "1",
      PORT: "2",
      TRUSTRANK_HOST: "::1",
      TRUSTRANK_DATA_DIR: "/d",
      TRUSTRANK_ADMIN_KEY: "",
    };
    expect(parseServeConfig(flags, environment)).toMatchObject({
      port: 1,
      host: "::1",
      dataDir: "/d",
      adminKey: undefined,
    });
    expect(parseServeConfig({ ...flags, port: "0", host: "h" }, environment)).toMatchObject({
      port: 0,
      host: "h",
    });
    expect(parseServeConfig(flags, { PORT: "2" }).port).toBe(2);
    expect(parseDataDirectory("/e", environment)).toBe("/e");
  });

  it("refuse what is no port", () => {
    for (const port of ["x", "-1", "65536", "80.5", " 80", "1e3"]) {
      expect(() => parseServeConfig({ ...flags, port }, {})).toThrow(InvalidSetting);
    }
  });

  it("name the HTTP threads: one to fifteen, by flag or environment", () => {
    const environment = { TRUSTRANK_HTTP_THREADS: "3" };
    expect(parseServeConfig(flags, environment).httpThreads).toBe(3);
    expect(parseServeConfig({ ...flags, httpThreads: "15" }, environment).httpThreads).toBe(15);
    for (const httpThreads of ["0", "16", "two", "1.5", "-1", ""]) {
      expect(() => parseServeConfig({ ...flags, httpThreads }, {})).toThrow(InvalidSetting);
    }
  });

  it("listen for Envoy where a port is named, and name its callers as told", () => {
    const grpcOf = (given: { grpcPort?: string }, environment: Record<string, string>) =>
      parseServeConfig({ ...flags, ...given }, environment).grpc;
    const named = { port: 8081, source: { header: undefined } };
    expect(grpcOf({ grpcPort: "8081" }, { TRUSTRANK_GRPC_PORT: "9" })).toEqual(named);
    expect(
      grpcOf({}, { TRUSTRANK_GRPC_PORT: "0", TRUSTRANK_GRPC_CALLER: "header:x-agent" }),
    ).toEqual({ port: 0, source: { header: "x-agent" } });
    expect(grpcOf({}, { TRUSTRANK_GRPC_CALLER: "principal" })).toBeUndefined();
    expect(() => grpcOf({}, { TRUSTRANK_GRPC_CALLER: "cookie" })).toThrow(InvalidSetting);
  });

  it("limit outcomes by default, and not where they are said to be unlimited", () => {
    const outcomesLimit = (rate?: string) =>
      parseServeConfig(flags, { TRUSTRANK_RATE_OUTCOMES: rate }).rateLimits.outcomes;
    expect(outcomesLimit()).toEqual({ perSecond: 1000, burst: 100_000 });
    expect(outcomesLimit("unlimited")).toBeUndefined();
    expect(parseServeConfig(flags, {}).rateLimits.score).toBeUndefined();
  });

  it("limit rates, with a burst of their own or that of one second", () => {
    const environment = { TRUSTRANK_RATE_SCORE: "2000", TRUSTRANK_RATE_OUTCOMES: "100/400" };
    expect(parseServeConfig(flags, environment).rateLimits).toEqual({
      score: { perSecond: 2000, burst: 2000 },
      outcomes: { perSecond: 100, burst: 400 },
    });
    for (const rate of ["0", "10/0", "x", "1/2/3", "-1", "1e9", "/5"]) {
      const wrong = () => parseServeConfig(flags, { TRUSTRANK_RATE_OUTCOMES: rate });
      expect(wrong, rate).toThrow(/TRUSTRANK_RATE_OUTCOMES/);
    }
  });

  it("switch the test agents off in production unless asked for", () => {
    expect(isEnabled({ NODE_ENV: "production" })).toBe(false);
    expect(isEnabled({ NODE_ENV: "production", TRUSTRANK_TEST_AGENTS: "1" })).toBe(true);
    expect(isEnabled({ TRUSTRANK_TEST_AGENTS: "0" })).toBe(false);
    expect(isEnabled({ NODE_ENV: "test" })).toBe(true);
  });

  it("find a server's key in three places", () => {
    expect(parseServerAccess({}, {})).toEqual({ url: undefined, key: undefined });
    const environment = { TRUSTRANK_ADMIN_KEY: "c", TRUSTRANK_KEY: "b", TRUSTRANK_URL: "u" };
    expect(parseServerAccess({ key: "a" }, environment)).toEqual({ url: "u", key: "a" });
    expect(parseServerAccess({}, environment).key).toBe("b");
    expect(parseServerAccess({}, { TRUSTRANK_ADMIN_KEY: "c" }).key).toBe("c");
  });
});

describe("output", () => {
  const columns = ["agent", "count"];
  const rows = [
    ["agent://a/x", 3],
    [null, 12],
    ['say "hi", twice', -1],
  ];

  it("aligns tables, numbers to the right", () => {
    expect(formatTable(columns, rows)).toEqual([
      "agent            count",
      "---------------  -----",
      "agent://a/x          3",
      "                    12",
      'say "hi", twice     -1',
    ]);
    expect(formatTable(["a"], [])).toEqual(["a", "-"]);
  });
});

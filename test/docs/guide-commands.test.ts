// The shell blocks of the guide, run as they stand there, in the order of each page, against the
// real service with the sample history: every one ends well and prints something.
import { parsePolicy } from "../../src/contract/parse/policy.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SampleService, startSampleService } from "../examples/_sample-service.ts";
import { type Fence, fencesOf, GUIDES, placeOf, readPage } from "./_fences.ts";
import { needs } from "../_needs.ts";

const isShell = ({ language, notRun }: Fence) => language === "sh" && notRun === undefined;
const blocks = GUIDES.flatMap(fencesOf).filter(isShell);
const cases = blocks.map((fence) => ({ ...fence, place: placeOf(fence) }));

/** As docs/guide/credibility.md names them. */
const [, SEEDS = ""] =
  /TRUSTRANK_SEEDS='([^']+)'/.exec(readPage("docs/guide/credibility.md")) ?? [];

/** What a command must have said besides ending well. */
const EXPECTED: readonly (readonly [command: string, answer: RegExp])[] = [
  ["profile=nginx", /^HTTP\/1\.1 403 [^]*^X-Trust-Effective: deny/m],
  ["/access/v1/evaluation", /"decision":true/],
  ["kaizen credibility", /seeds; .* reporters believed/],
  ["kaizen run --dry-run", /dry_run: [^]*G1 +sample +pass/],
  ["evidence add", /^1 sources registered$/],
  ["Invoice 17 asks", /"source_verified":true/],
  ["evidence label", /^1 of 1 labels counted$/m],
  ["worst-agents.sql", /quickcash\/loan-broker/],
  ["keys create", /tr_live_/],
  ["reviews decide", /^decision +overturned$/m],
  ["policy backtest", /^L2 +verify, no stakes named +given /m],
  ["/v1/policy/backtest", /^\{"backtest_id":"b-[\d-]+","state":"done"/],
  ["agents/agent%3A%2F%2Fhooli", /"standing":\{"in_force":true/],
];

const documentsOf = () => GUIDES.flatMap(fencesOf).filter(({ language }) => language === "json");

describe("the guide's commands", needs("bash", "curl"), () => {
  let service: SampleService;
  beforeAll(async () => {
    service = await startSampleService({ TRUSTRANK_SEEDS: SEEDS });
  });
  afterAll(() => service.stop());

  it("are there, and its seeds are", () => {
    expect(SEEDS).toContain("agent://");
    expect(cases.length).toBeGreaterThan(10);
    for (const [command] of EXPECTED) {
      expect(cases.some(({ text }) => text.includes(command))).toBe(true);
    }
  });

  it.each(cases)("runs: $place", async ({ text }) => {
    const printed = await service.run("bash", ["-euo", "pipefail", "-c", text]);
    expect(printed).not.toBe("");
    for (const [command, answer] of EXPECTED) {
      if (text.includes(command)) expect(printed).toMatch(answer);
    }
  });

  it("shows policies that the service takes", () => {
    const isPolicy = ({ text }: { text: string }) => !/mcpServers|"jwks"/.test(text);
    const documents = documentsOf().filter(isPolicy);
    expect(documents.length).toBeGreaterThan(0);
    for (const { text } of documents) expect(() => parsePolicy(JSON.parse(text))).not.toThrow();
  });

  it("shows an MCP client's settings that name a command of ours", async () => {
    const settings = documentsOf().find(({ text }) => text.includes("mcpServers"));
    const { mcpServers } = JSON.parse(settings!.text) as {
      mcpServers: { trustrank: { args: [string, ...string[]] } };
    };
    const [program, ...flags] = mcpServers.trustrank.args;
    expect(program).toBe("trustrank");
    const command = `npm run -s trustrank -- ${flags.join(" ")} --help`;
    expect(await service.run("bash", ["-c", command])).toContain("MCP clients");
  });

  it("leaves no block untested without a reason", () => {
    const known = new Set(["ts", "sql", "sh", "text", "json"]);
    // What names its test has one of its own (guide-webhooks.test.ts).
    const isUnknown = ({ language, runs, notRun }: Fence) =>
      !known.has(language) && (runs ?? notRun) === undefined;
    const others = GUIDES.flatMap(fencesOf).filter(isUnknown);
    expect(others.map(placeOf)).toEqual([]);
  });
});

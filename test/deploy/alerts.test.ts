// Alerts and dashboard against the code: promtool plays every alert, each has a section that says what to
// do, and nothing asks for a metric that the service does not have.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type MetricName, METRICS } from "../../src/http/metrics/metric-values.ts";
import { promtool } from "./_promtool.ts";
import { needs } from "../_needs.ts";

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const read = (path: string) => readFileSync(pathOf(path), "utf8");
const alerts = read("deploy/prometheus/alerts.yaml");
const tests = read("deploy/prometheus/alerts.test.yaml");
const NAMES = [...alerts.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name!);

/** Names of metrics in an expression that the service does not tell, with labels it does not give. */
function strangersIn(text: string): string[] {
  const strangers: string[] = [];
  for (const [, name, selector = ""] of text.matchAll(/\btrustrank_([a-z_]+)(?:\{([^}]*)\})?/g)) {
    const stem = name!.replace(/_(bucket|sum|count)$/, "");
    const known = Object.hasOwn(METRICS, name!) ? name! : stem;
    if (!Object.hasOwn(METRICS, known)) strangers.push(name!);
    else {
      const own: readonly string[] = METRICS[known as MetricName].labels;
      const asked = [...selector.matchAll(/(\w+)[=!]/g)].map(([, label]) => label!);
      const given = new Set([...own, "instance", "le"]);
      strangers.push(
        ...asked.filter((label) => !given.has(label)).map((each) => `${name}.${each}`),
      );
    }
  }
  return strangers;
}

describe("alerts", () => {
  it("fire and stay quiet", needs("promtool"), () => {
    const file = pathOf("deploy/prometheus/alerts.test.yaml");
    const { status, output } = promtool(["test", "rules", file]);
    expect([status, output.trimEnd().split("\n").at(-1)?.trim()]).toEqual([0, "SUCCESS"]);
  });

  it("are loaded by the configuration beside them", needs("promtool"), () => {
    const { status, output } = promtool([
      "check",
      "config",
      pathOf("deploy/prometheus/prometheus.yml"),
    ]);
    expect([status, output]).toEqual([0, expect.stringContaining(`${NAMES.length} rules found`)]);
  });

  it("are each tested", () => {
    const tested = [...tests.matchAll(/^ +alertname: (\w+)$/gm)].map(([, name]) => name);
    expect(tested).toEqual(NAMES);
  });

  it("are each explained, and point to where", () => {
    const page = read("docs/operate/alerts.md");
    const sections = page.split(/^## /m).slice(1);
    expect(sections.map((section) => section.split("\n", 1)[0])).toEqual(NAMES);
    for (const section of sections) expect(section).toMatch(/\*\*Means\.\*\*[^]+\*\*Do\.\*\*/);
    const pointers = [...alerts.matchAll(/runbook: (\S+)#(\w+)$/gm)];
    expect(pointers.map(([, path, anchor]) => [path, anchor])).toEqual(
      NAMES.map((name) => ["docs/operate/alerts.md", name.toLowerCase()]),
    );
  });

  it("ask only for metrics that there are", () => {
    expect(strangersIn(alerts)).toEqual([]);
    expect(strangersIn("rate(trustrank_nothing_total{}[5m]) + trustrank_agents{tier='A'}")).toEqual(
      ["nothing_total", "agents.tier"],
    );
  });
});

describe("the dashboard", () => {
  const text = read("deploy/grafana/trustrank.json");
  const { panels } = JSON.parse(text) as {
    panels: { id: number; type: string; title: string; targets?: { expr: string }[] }[];
  };

  it("has a row for each subject, and panels with a place and an expression", () => {
    const rows = panels.filter(({ type }) => type === "row").map(({ title }) => title);
    expect(rows).toEqual([
      "Golden signals",
      "Verdicts",
      "Evidence",
      "Learning",
      "Durability",
      "Cluster",
    ]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const shown = panels.filter(({ type }) => type !== "row");
    expect(shown.filter(({ targets = [] }) => targets.length === 0)).toEqual([]);
  });

  const asked = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

  it("asks only for metrics that there are", () => {
    expect(asked.flatMap(strangersIn)).toEqual([]);
  });

  it("asks what promtool can read", needs("promtool"), () => {
    const rules = asked.map((expr, index) => {
      const plain = expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*");
      return `      - record: panel:${index}\n        expr: ${JSON.stringify(plain)}\n`;
    });
    const folder = mkdtempSync(join(tmpdir(), "trustrank-dashboard-"));
    const file = join(folder, "rules.yaml");
    writeFileSync(file, `groups:\n  - name: dashboard\n    rules:\n${rules.join("")}`);
    const { status, output } = promtool(["check", "rules", file]);
    rmSync(folder, { recursive: true });
    expect([status, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
  });
});

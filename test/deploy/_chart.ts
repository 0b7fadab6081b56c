// The Helm chart, rendered: by the engine and the functions that Helm itself is made of, in a small program
// (helm/render.go), since no package here has Helm.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { ROOT } from "./_read-only.ts";
import { needs } from "../_needs.ts";

export const CHART = join(ROOT, "deploy/helm/trustrank");
export const read = (name: string) => readFileSync(join(CHART, name), "utf8");

export type Values = Record<string, unknown>;
export const VALUES = parse(read("values.yaml")) as Values;
export const ABOUT = parse(read("Chart.yaml")) as Record<string, string>;

const GO = { GO111MODULE: "off", GOPATH: "/usr/share/gocode", GOFLAGS: "" };

/** What a suite needs that renders it. */
export const RENDERER = needs("go", "go-sprig");

/** Builds the program; the folder goes with `remove`. */
export function openRenderer() {
  const folder = mkdtempSync(join(tmpdir(), "trustrank-chart-"));
  const program = join(folder, "render");
  const env = { ...process.env, ...GO, GOCACHE: join(folder, "cache") };
  execFileSync("go", ["build", "-o", program, join(ROOT, "test/deploy/helm/render.go")], { env });
  return {
    /** Objects by kind, and the notes; `changes` are laid over the values, member by member. */
    render(changes: Values = {}): { objects: ChartObject[]; notes: string } {
      const input = JSON.stringify({ Templates: templates(), Context: contextOf(changes) });
      const texts = JSON.parse(execFileSync(program, { input, encoding: "utf8" })) as object;
      const { "NOTES.txt": notes = "", ...files } = texts as Record<string, string>;
      const objects = Object.entries(files).flatMap(([name, text]) =>
        parseAllDocuments(text).flatMap((document) => {
          const [broken] = [...document.errors, ...document.warnings];
          if (broken !== undefined) throw new Error(`${name}: ${broken.message}\n${text}`);
          const value = document.toJS() as ChartObject | null;
          return value === null ? [] : [value];
        }),
      );
      return { objects, notes };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface ChartObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { name: string; labels: Record<string, string> };
  // oxlint-disable-next-line typescript/no-explicit-any -- objects of Kubernetes, looked into by tests
  readonly spec: any;
  readonly data?: Record<string, string>;
}

function templates(): Record<string, string> {
  const names = readdirSync(join(CHART, "templates"));
  return Object.fromEntries(names.map((name) => [name, read(`templates/${name}`)]));
}

function contextOf(changes: Values) {
  const { name, version, appVersion } = ABOUT;
  return {
    Values: layered(VALUES, changes),
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Release: { Name: "bureau", Namespace: "trust", Service: "Helm" },
  };
}

/** As Helm lays values over each other: maps are joined, everything else is replaced. */
export function layered(under: Values, over: Values): Values {
  const both = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const below = under[name];
    both[name] = isMap(value) && isMap(below) ? layered(below, value) : value;
  }
  return both;
}

function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Modules of the API's published types. */
const MODULES: Readonly<Record<string, string>> = {
  v1: "kubernetes-models/v1",
  "apps/v1": "kubernetes-models/apps/v1",
  "policy/v1": "kubernetes-models/policy/v1",
  "networking.k8s.io/v1": "kubernetes-models/networking.k8s.io/v1",
};

/**
 * What the compiler says of objects as values of Kubernetes' published types: a member that is missing,
 * of another type, or that no such object has. Kinds without published types are left out.
 */
export function complaintsOf(objects: readonly ChartObject[]): string {
  mkdirSync(join(ROOT, "build"), { recursive: true });
  // Below the packages, and its own: several files of tests ask at a time.
  const folder = mkdtempSync(join(ROOT, "build/chart-types-"));
  const lines = objects.flatMap((object, index) => {
    const module = MODULES[object.apiVersion];
    if (module === undefined) return [];
    const type = `import("${module}").I${object.kind}`;
    return [`export const object${index}: ${type} = ${JSON.stringify(object, undefined, 1)};`];
  });
  writeFileSync(join(folder, "objects.ts"), `${lines.join("\n")}\n`);
  try {
    const kind = ["--module", "nodenext", "--target", "esnext", "--types", "node"];
    const flags = ["--ignoreConfig", "--noEmit", "--strict", "--skipLibCheck", ...kind];
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const { stdout } = spawnSync(tsc, [...flags, "objects.ts"], { cwd: folder, encoding: "utf8" });
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

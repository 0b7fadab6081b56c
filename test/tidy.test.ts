// The house rules as a test over the tree itself: who may import whom (the table of
// ARCHITECTURE.md), sizes, words that have a better replacement, dead files.
// Function length is the linter's job, unused exports and packages are knip's.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const IGNORED = new Set(["node_modules", "build", ".git", "local", "coverage"]);
const FILE_LINES_MAX = 400;
const FOLDER_FILES_MAX = 32;

/** `any`: values and types; `types`: `import type` only. */
const IMPORT_TABLE: Readonly<Record<string, { any: RegExp[]; types?: RegExp[] }>> = {
  assembly: { any: [/^assembly\//] },
  contract: { any: [] },
  concurrency: { any: [/^src\/contract\/(faults|encoded-fault)\.ts$/] },
  markup: { any: [/^src\/contract\//] },
  platform: { any: [/^src\/concurrency\//] },
  engine: { any: [/^src\/(contract|platform)\//, /^assembly\/(layout|codes)\.ts$/] },
  journal: { any: [/^src\/(contract|concurrency|platform)\//], types: [/^src\/engine\//] },
  ledger: { any: [/^src\/(contract|concurrency|platform|journal)\//], types: [/^src\/engine\//] },
  stream: { any: [/^src\/(concurrency|platform)\//, /^src\/ledger\/ordered\/message\.ts$/] },
  store: { any: [/^src\/(contract|concurrency|platform|journal)\//] },
  vault: { any: [/^src\/(contract|concurrency|platform)\//, /^assembly\/grounding\/layout\.ts$/] },
  policy: { any: [/^src\/contract\//] },
  bureau: {
    any: [/^src\/(contract|concurrency|policy)\//],
    types: [/^src\/(engine|journal|ledger)\//],
  },
  kaizen: {
    any: [
      /^src\/(contract|concurrency|markup|policy|platform|engine|journal)\//,
      /^assembly\/layout\.ts$/,
    ],
    types: [/^src\/store\//],
  },
  http: {
    any: [/^src\/(contract|concurrency|markup|platform)\//, /^assembly\/wire\/layout\.ts$/],
    types: [/^src\/(bureau|store|kaizen)\//],
  },
  // Without contract/schemas: what is published has no dependency, and schemas have typebox.
  client: { any: [/^src\/contract\/(faults|flagged|limits|messages|vocabulary)\.ts$/] },
  webhooks: { any: [/^src\/(contract|concurrency|platform|journal)\//] },
  // Runs in a browser: of the rest only types, which are gone by then.
  console: { any: [], types: [/^src\/contract\//] },
  mcp: { any: [/^src\/(contract|client)\//] },
  threads: { any: [/^src\/(?!service\/|cli\/)/] },
  service: { any: [/^src\/(?!cli\/)/] },
  cli: { any: [/^src\//] },
};

/** Statistics and gates of kaizen see arrays: only its replay and its service see files. */
const IS_PURE = /^src\/kaizen\/(model|gates|credibility|report)\//;

const TOP_LEVEL = new Set(
  (
    "package.json package-lock.json tsconfig.json asconfig.json vitest.config.ts knip.json " +
    "assembly src bench data test docs examples " +
    "README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md CHANGELOG.md LICENSE"
  ).split(" "),
);
const TOP_LEVEL_ALSO = new Set(["deploy", "clients"]);

/**
 * The outside world (time, chance, environment, exit) enters through these files alone. The client
 * is a library: its users are its composition root, and its defaults stand in one file.
 */
const IS_EDGE = /^src\/(cli|service|threads|console)\/|^src\/client\/runtime\.ts$/;
/** uws-binary.ts sets the one variable that native code reads when it loads. */
const ENVIRONMENT = new RegExp(`${IS_EDGE.source}|^src/http/server/uws-binary\\.ts$`);
/** nats-connection.ts looks at times that the client of NATS has taken from the system's clock itself. */
const CLOCK = new RegExp(`${IS_EDGE.source}|^src/stream/nats-connection\\.ts$`);
const IN_SOURCE = /^(src|assembly)\//;
const ANYWHERE = /^/;

/** Words of one-letter classes match others and not this file itself. */
const BANNED: readonly { token: RegExp; within: RegExp; except?: RegExp; instead: string }[] = [
  {
    token: /console\s*\.\w+\(/,
    within: IN_SOURCE,
    // The library's users have no log of ours: an alert that nobody takes is a line of their console.
    except: /^src\/client\/runtime\.ts$/,
    instead: "the output file of src/cli",
  },
  { token: /\bDate\.now\b/, within: IN_SOURCE, except: CLOCK, instead: "the injected clock" },
  { token: /\bMath\.random\b/, within: IN_SOURCE, except: IS_EDGE, instead: "injected randomness" },
  {
    token: /\bprocess\.env\b/,
    within: IN_SOURCE,
    except: ENVIRONMENT,
    instead: "src/service/settings/config.ts",
  },
  { token: /\bprocess\.exit\b/, within: IN_SOURCE, except: IS_EDGE, instead: "a thrown fault" },
  { token: /^\s*(export )?(const )?enum\s/m, within: ANYWHERE, instead: "an ordered array" },
  { token: /^(?!\s*(\/\/|\/?\*)).*\bas [a]ny\b/m, within: ANYWHERE, instead: "unknown, checked" },
  { token: /\b(FIX[M]E|TO[D]O|XX[X])\b/, within: ANYWHERE, instead: "doing it" },
];

function listFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (IGNORED.has(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? listFiles(path) : [path];
  });
}

const files = listFiles(".");
const code = files.filter((path) => /^(src|assembly|bench|test|data|examples)\/.*\.ts$/.test(path));
const texts = new Map(code.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));

interface Import {
  readonly target: string;
  readonly isType: boolean;
}

const IMPORT = /^(?:import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']/gm;
const DYNAMIC = /(?:import|require|resolve)\(\s*["']([^"']+)["']/g;

/** Every import of a file; relative ones as paths from the root, packages by their name. */
function importsOf(path: string): Import[] {
  const text = texts.get(path)!;
  const found = [...text.matchAll(IMPORT)].map(([, type, target]) => ({ type, target: target! }));
  const dynamic = [...text.matchAll(DYNAMIC)].map(([, target]) => ({ type: "", target: target! }));
  return [...found, ...dynamic].map(({ type, target }) => ({
    isType: Boolean(type),
    target: target.startsWith(".") ? relative(ROOT, join(ROOT, dirname(path), target)) : target,
  }));
}

function roomOf(path: string): string {
  const [top, room] = path.split("/");
  return top === "src" ? room! : top!;
}

/** Strongly connected components of more than one file (Tarjan); types count as imports. */
function circlesOf(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (path: string): void => {
    order.set(path, order.size);
    low.set(path, order.get(path)!);
    stack.push(path);
    for (const next of edges.get(path) ?? []) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) low.set(path, Math.min(low.get(path)!, low.get(next)!));
    }
    if (low.get(path) !== order.get(path)) return;
    const circle = stack.splice(stack.indexOf(path));
    if (circle.length > 1) circles.push(circle);
  };
  for (const path of edges.keys()) if (!order.has(path)) visit(path);
  return circles;
}

describe("the tree", () => {
  it("keeps to the import table of ARCHITECTURE.md", () => {
    const offences: string[] = [];
    for (const path of code) {
      const room = roomOf(path);
      const rule = IMPORT_TABLE[room];
      if (rule === undefined) continue;
      for (const { target, isType } of importsOf(path)) {
        const isOwn = roomOf(target) === room && /^(src|assembly)\//.test(target);
        if (isOwn || !/^(src|assembly|bench|test|data)\//.test(target)) continue;
        const isOpen = isType || !IS_PURE.test(path);
        const any = isOpen
          ? rule.any
          : [/^src\/(contract|markup|policy)\//, /^assembly\/(layout|codes)\.ts$/];
        const allowed = isType ? [...any, ...(rule.types ?? [])] : any;
        if (!allowed.some((pattern) => pattern.test(target))) offences.push(`${path}: ${target}`);
      }
    }
    expect(offences).toEqual([]);
  });

  it("keeps every package out of the client and what it imports", () => {
    const reached = new Set(code.filter((path) => path.startsWith("src/client/")));
    for (const path of reached) {
      for (const { target } of importsOf(path)) if (texts.has(target)) reached.add(target);
    }
    const packages = [...reached].flatMap((path) =>
      importsOf(path).flatMap(({ target, isType }) =>
        isType || /^(src\/|node:)/.test(target) ? [] : [`${path}: ${target}`],
      ),
    );
    expect(packages).toEqual([]);
    expect([...reached].filter((path) => path.startsWith("src/contract/schemas/"))).toEqual([]);
  });

  it("describes every room in ARCHITECTURE.md", () => {
    const architecture = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
    const rooms = new Set(code.filter((path) => path.startsWith("src/")).map(roomOf));
    const missing = [...rooms].filter((room) => !architecture.includes(`\`src/${room}/\``));
    expect(missing).toEqual([]);
  });

  it("imports each runtime package in one file", () => {
    const manifest: { dependencies: Record<string, string> } = JSON.parse(
      readFileSync(join(ROOT, "package.json"), "utf8"),
    );
    const shared = Object.keys(manifest.dependencies).flatMap((name) => {
      const users = code.filter(
        (path) =>
          path.startsWith("src/") &&
          importsOf(path).some(({ target }) => target === name || target.startsWith(`${name}/`)),
      );
      return users.length > 1 ? [`${name}: ${users.join(", ")}`] : [];
    });
    expect(shared).toEqual([]);
  });

  it("keeps files short", () => {
    const lengths = [...texts].map(([path, text]) => ({
      path,
      lines: text.split("\n").length - 1,
    }));
    expect(lengths.filter(({ lines }) => lines > FILE_LINES_MAX)).toEqual([]);
  });

  it("keeps every source file in a room, and folders small enough to scan", () => {
    expect(code.filter((path) => /^src\/[^/]+$/.test(path))).toEqual([]);
    const counts = new Map<string, number>();
    for (const path of code.filter((at) => IN_SOURCE.test(at))) {
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    }
    expect([...counts].filter(([, count]) => count > FOLDER_FILES_MAX)).toEqual([]);
  });

  it("names a rule for every room", () => {
    const rooms = new Set(code.filter((path) => IN_SOURCE.test(path)).map(roomOf));
    expect([...rooms].filter((room) => IMPORT_TABLE[room] === undefined)).toEqual([]);
  });

  it("has no circle of imports between folders", () => {
    const edges = new Map<string, Set<string>>();
    for (const path of code.filter((at) => IN_SOURCE.test(at))) {
      for (const { target } of importsOf(path)) {
        if (!texts.has(target) || !IN_SOURCE.test(target)) continue;
        edges.set(path, (edges.get(path) ?? new Set()).add(target));
      }
    }
    expect(circlesOf(edges).filter((circle) => new Set(circle.map(dirname)).size > 1)).toEqual([]);
  });

  it("opens every file with what it owns: a noun phrase or a verb, no question word", () => {
    const isPlain = (text: string) => /^\/\/ (?!(What|Who|How|Where|Which|When)\w*\b)/.test(text);
    expect(code.filter((path) => !isPlain(texts.get(path)!))).toEqual([]);
  });

  it("names test helpers with an underscore", () => {
    const plain = /^test\/(attack|cluster|crash|frameworks|reference)\/|\/_[\w-]+\.ts$|\.test\.ts$/;
    const helpers = code.filter((path) => path.startsWith("test/") && !plain.test(path));
    expect(helpers).toEqual(["test/docs/generate.ts"]);
  });

  it.each(BANNED)("bans $token (instead: $instead)", ({ token, within, except }) => {
    const offences = code.filter(
      (path) => within.test(path) && !except?.test(path) && token.test(texts.get(path)!),
    );
    expect(offences).toEqual([]);
  });

  it("has no dead source file", () => {
    // What is run or published, as the manifests name it: scripts, bin and exports.
    const manifest = readFileSync(join(ROOT, "package.json"), "utf8");
    const client = JSON.parse(readFileSync(join(ROOT, "src/client/package.json"), "utf8"));
    const entries = [...manifest.matchAll(/\b(?:src|bench)\/[\w/-]+\.ts\b/g)].map(([path]) => path);
    // Named by the document of src/http/console/assets.ts.
    entries.push("src/console/main.ts");
    entries.push(...Object.values<string>(client.exports).map((path) => join("src/client", path)));
    const reached = new Set<string>();
    const waiting = [...entries, ...code.filter((path) => /^(bench|data|examples)\//.test(path))];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (reached.has(path) || !texts.has(path)) continue;
      reached.add(path);
      const here = dirname(path);
      const named = [...texts.get(path)!.matchAll(/["'](\.{1,2}\/[^"']+\.ts)["']/g)];
      waiting.push(...named.map(([, target]) => join(here, target!)));
    }
    const source = code.filter((path) => /^src\/.*(?<!\.d)\.ts$/.test(path));
    expect(source.filter((path) => !reached.has(path))).toEqual([]);
  });

  it("keeps the top level fixed", () => {
    const strangers = readdirSync(ROOT).filter(
      (name) =>
        !name.startsWith(".") &&
        !IGNORED.has(name) &&
        !TOP_LEVEL.has(name) &&
        !TOP_LEVEL_ALSO.has(name),
    );
    expect(strangers).toEqual([]);
    expect([...TOP_LEVEL].filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
  });
});

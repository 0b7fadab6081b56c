// Files of the console as a browser takes them: its modules with their types stripped, vendor modules as
// their packages ship them. No bundler: a module names its neighbours by relative paths, and packages by
// names that are replaced by the path of the vendor file. All addresses hold one hash over all files, so
// that a browser may keep them for ever.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createRequire, stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

// Browser files of the console's packages; their contents are pinned by the lock file.
export interface VendorFile {
  /** Below `vendor/`. */
  readonly name: string;
  /** How a module names it. */
  readonly specifier: string;
  /** Files of packages, one after the other. */
  readonly files: readonly string[];
  /** Makes a module of scripts that are none. */
  readonly tail?: string;
}

export const VENDOR_FILES: readonly VendorFile[] = [
  { name: "preact.mjs", specifier: "preact", files: ["preact/dist/preact.mjs"] },
  { name: "hooks.mjs", specifier: "preact/hooks", files: ["preact/hooks/dist/hooks.mjs"] },
  { name: "htm.mjs", specifier: "htm", files: ["htm/dist/htm.mjs"] },
  {
    name: "d3-force.mjs",
    specifier: "d3-force",
    // As scripts, in the order in which they need one another: their modules are a file a function.
    files: [
      "d3-quadtree/dist/d3-quadtree.min.js",
      "d3-dispatch/dist/d3-dispatch.min.js",
      "d3-timer/dist/d3-timer.min.js",
      "d3-force/dist/d3-force.min.js",
    ],
    tail: `
export const { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } = globalThis.d3;
`,
  },
];

export interface ConsoleAsset {
  readonly mediaType: string;
  readonly body: Buffer;
}

const SCRIPT_MEDIA_TYPE = "text/javascript; charset=utf-8";
const STYLE_MEDIA_TYPE = "text/css; charset=utf-8";
const HASH_LENGTH = 16;
/** Parts of the one style sheet, in the order in which later rules win. */
const STYLE_SHEET_NAMES = [
  "base",
  "frame",
  "cards",
  "controls",
  "reviews",
  "drawings",
  "login",
  "plots",
  "graph",
  "sql",
  "policy",
  "pages",
];
/** `.ts` as they lie in the tree, `.js` in the built package. */
const SCRIPT_EXTENSION = path.extname(fileURLToPath(import.meta.url));
const CONSOLE_FOLDER = fileURLToPath(new URL("../../console", import.meta.url));
const require = createRequire(import.meta.url);
/** An import from a package: `from "name"`, `import("name")`. */
const PACKAGE_IMPORT = /(\bfrom\s*|\bimport\s*\(?\s*)(["'])([\w@][\w@./-]*)\2/g;

interface ConsoleSources {
  /** Hash over all files. */
  readonly version: string;
  /** Sources by the path below the version. */
  readonly sources: ReadonlyMap<string, string>;
}

export class ConsoleAssets {
  #loading: Promise<ConsoleSources> | undefined = undefined;
  readonly #ready = new Map<string, ConsoleAsset>();

  /** The page: it holds nothing but the way to the rest. */
  async document(): Promise<string> {
    const { version } = await this.#load();
    const at = `console/assets/${version}`;
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>TrustRank</title>
<link rel="icon" href="${at}/console/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${at}/console/console.css">
<script type="module" src="${at}/console/main${SCRIPT_EXTENSION}"></script>
</head>
<body>
<div id="console"></div>
<noscript>The console needs JavaScript. All that it shows is in the API too: see <a href="docs">its description</a>.</noscript>
</body>
</html>
`;
  }

  /** The file at `version/path`; undefined when there is none. */
  async find(address: string): Promise<ConsoleAsset | undefined> {
    const { version, sources } = await this.#load();
    const slash = address.indexOf("/");
    if (address.slice(0, slash) !== version) return undefined;
    const name = address.slice(slash + 1);
    const ready = this.#ready.get(name);
    if (ready !== undefined) return ready;
    const source = sources.get(name);
    if (source === undefined) return undefined;
    const asset = buildAsset(name, source);
    this.#ready.set(name, asset);
    return asset;
  }

  #load(): Promise<ConsoleSources> {
    this.#loading ??= loadConsoleSources().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }
}

async function loadConsoleSources(): Promise<ConsoleSources> {
  const sources = new Map<string, string>();
  const entries = await readdir(CONSOLE_FOLDER, { withFileTypes: true, recursive: true });
  for (const entry of entries) {
    if (!entry.isFile() || !/\.(ts|js|css|svg)$/.test(entry.name)) continue;
    const file = path.join(entry.parentPath, entry.name);
    const name = path.posix.join(
      "console",
      path.relative(CONSOLE_FOLDER, file).replaceAll("\\", "/"),
    );
    sources.set(name, await readFile(file, "utf8"));
  }
  const styles = STYLE_SHEET_NAMES.map((name) => `console/styles/${name}.css`);
  sources.set("console/console.css", styles.map((name) => sources.get(name)!).join("\n"));
  for (const name of styles) sources.delete(name);
  for (const vendor of VENDOR_FILES)
    sources.set(`vendor/${vendor.name}`, await readVendorText(vendor));
  const hash = createHash("sha256");
  for (const name of [...sources.keys()].toSorted()) hash.update(`${name}\n${sources.get(name)}\n`);
  return { version: hash.digest("hex").slice(0, HASH_LENGTH), sources };
}

async function readVendorText({ files, tail = "" }: VendorFile): Promise<string> {
  const texts = files.map(async (file) => readFile(resolvePackageFile(file), "utf8"));
  const text = (await Promise.all(texts)).join("\n;\n") + tail;
  return text.replaceAll(/\n\/\/# sourceMappingURL=.*/g, "");
}

/** Path of a package's file that its manifest may not export. */
function resolvePackageFile(file: string): string {
  const parts = file.split("/");
  const name = parts.slice(0, file.startsWith("@") ? 2 : 1).join("/");
  for (const folder of require.resolve.paths(name) ?? []) {
    const manifest = path.join(folder, name, "package.json");
    if (require.cache[manifest] !== undefined || isResolvable(manifest))
      return path.join(folder, file);
  }
  throw new Error(`package \`${name}\` is not installed`);
}

function isResolvable(file: string): boolean {
  try {
    require.resolve(file);
    return true;
  } catch {
    return false;
  }
}

function buildAsset(name: string, source: string): ConsoleAsset {
  if (name.endsWith(".css")) return { mediaType: STYLE_MEDIA_TYPE, body: Buffer.from(source) };
  if (name.endsWith(".svg")) return { mediaType: "image/svg+xml", body: Buffer.from(source) };
  const script = name.endsWith(".ts") ? stripTypeScriptTypes(source) : source;
  const up = "../".repeat(name.split("/").length - 1);
  const linked = script.replaceAll(PACKAGE_IMPORT, (whole, before, quote, specifier) => {
    const vendor = VENDOR_FILES.find((file) => file.specifier === specifier);
    return vendor === undefined ? whole : `${before}${quote}${up}vendor/${vendor.name}${quote}`;
  });
  return { mediaType: SCRIPT_MEDIA_TYPE, body: Buffer.from(linked) };
}

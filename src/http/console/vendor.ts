// Packages that the console's pages run on, and which of their files a browser takes. Their contents are
// pinned by the lock file.
export interface VendorFile {
  /** Below `vendor/`. */
  readonly name: string;
  /** How a module names it; absent for style sheets. */
  readonly specifier?: string;
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
    name: "uplot.mjs",
    specifier: "uplot",
    // A third of the module that the package ships beside it.
    files: ["uplot/dist/uPlot.iife.min.js"],
    tail: "\nexport default uPlot;\n",
  },
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
  { name: "uplot.css", files: ["uplot/dist/uPlot.min.css"] },
];

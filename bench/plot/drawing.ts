// Drawings of results as SVG, made by Observable Plot on a document without a browser. A drawing has a
// background of its own and follows the reader's colour scheme, so that it is legible on any page.
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";

/** What Plot is given, with the words around it. */
export interface Drawing {
  /** Of its file: `tail-latency`. */
  readonly name: string;
  readonly title: string;
  /** Machine and conditions. */
  readonly subtitle: string;
  readonly options: Plot.PlotOptions;
}

/** Of medium lightness: each stands out from white and from black. */
export const COLOURS = ["#2f81f7", "#d9730d", "#1a9e55", "#e5484d", "#8e6cef", "#b08800"] as const;

const WIDTH = 760;
const HEIGHT = 360;
const HEAD_HEIGHT = 56;
const NAMESPACE = "http://www.w3.org/2000/svg";
const STYLE = `
:root { color: #1f2328; }
.paper { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { color: #e6edf3; }
  .paper { fill: #0d1117; }
}
text { font-family: system-ui, sans-serif; }
`;

/** The text of an SVG file. */
export function draw({ title, subtitle, options }: Drawing): string {
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  const make = (name: string, attributes: Readonly<Record<string, string | number>>, text = "") => {
    const element = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    element.textContent = text;
    return element;
  };
  const plot = Plot.plot({
    width: WIDTH,
    height: HEIGHT,
    marginTop: 28,
    marginLeft: 76,
    marginRight: 130,
    marginBottom: 48,
    // The types of a browser are not loaded here.
    document: document as never,
    ...options,
    style: { fontSize: "13px", background: "none" },
  });
  plot.setAttribute("y", String(HEAD_HEIGHT));
  const height = HEAD_HEIGHT + HEIGHT;
  const root = make("svg", {
    xmlns: NAMESPACE,
    width: WIDTH,
    height,
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: "img",
  });
  root.append(
    make("title", {}, title),
    make("style", {}, STYLE),
    make("rect", { class: "paper", width: WIDTH, height }),
    make(
      "text",
      { x: 16, y: 26, "font-size": 16, "font-weight": 600, fill: "currentColor" },
      title,
    ),
    make("text", { x: 16, y: 46, "font-size": 12, fill: "currentColor" }, subtitle),
    plot as never,
  );
  return `${root.outerHTML}\n`;
}

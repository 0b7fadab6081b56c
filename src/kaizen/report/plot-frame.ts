// Frame that the SVG plots of a report share: its size, its axes and the scale of probabilities. Text
// only, no script; colours come from the page's variables.

export const WIDTH = 460;
export const HEIGHT = 300;
export const LEFT = 58;
export const BOTTOM = 44;
export const TOP = 12;
export const RIGHT = 24;

export const plotWidth = WIDTH - LEFT - RIGHT;
export const plotHeight = HEIGHT - TOP - BOTTOM;
export const px = (x: number): string => x.toFixed(1);

/** An SVG with a frame, the names of its axes and `inner`. */
export function frame(title: string, xLabel: string, yLabel: string, inner: string): string {
  const bottom = HEIGHT - BOTTOM;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">`,
    `<rect x="${LEFT}" y="${TOP}" width="${plotWidth}" height="${plotHeight}" class="frame"/>`,
    inner,
    `<text x="${LEFT + plotWidth / 2}" y="${HEIGHT - 6}" class="middle">${xLabel}</text>`,
    `<text x="14" y="${TOP + plotHeight / 2}" class="middle"`,
    ` transform="rotate(-90 14 ${TOP + plotHeight / 2})">${yLabel}</text>`,
    `<line x1="${LEFT}" y1="${bottom}" x2="${WIDTH - RIGHT}" y2="${bottom}" class="axis"/>`,
    `</svg>`,
  ].join("");
}

/** Probabilities on a square-root axis: most of them are small, and all of them matter. */
export const rootScale = (p: number): number => Math.sqrt(Math.max(0, Math.min(1, p)));

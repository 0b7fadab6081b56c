// Frame that the SVG plots of a report share: its size, its axes and the scale of probabilities. Text
// only, no script; colours come from the page's variables.

export const REPORT_PLOT_WIDTH = 460;
export const REPORT_PLOT_HEIGHT = 300;
export const MARGIN_LEFT = 58;
export const MARGIN_BOTTOM = 44;
export const MARGIN_TOP = 12;
export const MARGIN_RIGHT = 24;

export const PLOT_AREA_WIDTH = REPORT_PLOT_WIDTH - MARGIN_LEFT - MARGIN_RIGHT;
export const PLOT_AREA_HEIGHT = REPORT_PLOT_HEIGHT - MARGIN_TOP - MARGIN_BOTTOM;
export const formatPixels = (x: number): string => x.toFixed(1);

/** An SVG with a frame, the names of its axes and `inner`. */
export function renderPlotFrame(
  title: string,
  xLabel: string,
  yLabel: string,
  inner: string,
): string {
  const bottom = REPORT_PLOT_HEIGHT - MARGIN_BOTTOM;
  return [
    `<svg viewBox="0 0 ${REPORT_PLOT_WIDTH} ${REPORT_PLOT_HEIGHT}" role="img" aria-label="${title}">`,
    `<rect x="${MARGIN_LEFT}" y="${MARGIN_TOP}" width="${PLOT_AREA_WIDTH}" height="${PLOT_AREA_HEIGHT}" class="frame"/>`,
    inner,
    `<text x="${MARGIN_LEFT + PLOT_AREA_WIDTH / 2}" y="${REPORT_PLOT_HEIGHT - 6}" class="middle">${xLabel}</text>`,
    `<text x="14" y="${MARGIN_TOP + PLOT_AREA_HEIGHT / 2}" class="middle"`,
    ` transform="rotate(-90 14 ${MARGIN_TOP + PLOT_AREA_HEIGHT / 2})">${yLabel}</text>`,
    `<line x1="${MARGIN_LEFT}" y1="${bottom}" x2="${REPORT_PLOT_WIDTH - MARGIN_RIGHT}" y2="${bottom}" class="axis"/>`,
    `</svg>`,
  ].join("");
}

/** Probabilities on a square-root axis: most of them are small, and all of them matter. */
export const scaleBySquareRoot = (p: number): number => Math.sqrt(Math.max(0, Math.min(1, p)));

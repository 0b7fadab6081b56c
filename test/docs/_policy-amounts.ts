// Draws docs/guide/policy-amounts.svg from the shipped terms: the largest risk that connects, and that
// connects with verification, by the amount at stake.
import { CATCH_RATES_DEFAULT, resolveStakesTerms } from "../../src/contract/stakes-policy.ts";
import { computeRiskBorders } from "../../src/policy/stakes-decision.ts";

const WIDTH = 640;
const HEIGHT = 320;
const LEFT = 56;
const RIGHT = 150;
const TOP = 20;
const BOTTOM = 44;
const AMOUNTS = [7, 10, 100, 1000, 10_000, 100_000];
const RISKS = [0.001, 0.01, 0.1, 1];
const POINTS_PER_DECADE = 12;

const spanX = Math.log(AMOUNTS.at(-1)! / AMOUNTS[0]!);
const spanY = Math.log(RISKS.at(-1)! / RISKS[0]!);
const placeX = (amount: number) =>
  LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(amount / AMOUNTS[0]!)) / spanX;
const placeY = (risk: number) =>
  HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * Math.log(risk / RISKS[0]!)) / spanY;
const round = (value: number) => value.toFixed(1);

/** The picture as SVG text. */
export function drawPolicyAmounts(): string {
  const terms = resolveStakesTerms().connect;
  const decades = Math.log10(AMOUNTS.at(-1)! / AMOUNTS[0]!);
  const count = Math.round(decades * POINTS_PER_DECADE);
  const amounts = Array.from(
    { length: count + 1 },
    (_, i) => AMOUNTS[0]! * 10 ** ((decades * i) / count),
  );
  const borders = amounts.map((amount) => computeRiskBorders(terms, CATCH_RATES_DEFAULT, amount));
  const line = (name: "connect" | "verification") =>
    borders
      .map((each, i) => `${round(placeX(amounts[i]!))},${round(placeY(each[name]))}`)
      .join(" ");
  const [from, to] = [round(placeX(AMOUNTS[0]!)), round(placeX(AMOUNTS.at(-1)!))];
  const floor = round(HEIGHT - BOTTOM);
  const label = (x: number, y: number, text: string) =>
    `<text x="${round(x)}" y="${round(y)}">${text}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    "<title>Largest risk that connects, by the amount at stake, with the shipped numbers</title>",
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<polygon points="${from},${round(TOP)} ${to},${round(TOP)} ${to},${floor} ${from},${floor}" fill="#f7d9d4"/>`,
    `<polygon points="${line("verification")} ${to},${floor} ${from},${floor}" fill="#fbeecb"/>`,
    `<polygon points="${line("connect")} ${to},${floor} ${from},${floor}" fill="#d6ecd8"/>`,
    ...AMOUNTS.map((amount) =>
      label(placeX(amount) - 8, HEIGHT - BOTTOM + 16, amount.toLocaleString("en-US")),
    ),
    ...RISKS.map((risk) => label(8, placeY(risk) + 4, `${risk * 100} %`)),
    label(LEFT, HEIGHT - 8, "amount at stake, in your unit; a request without stakes counts for 7"),
    label(WIDTH - RIGHT + 8, placeY(0.002), "connects"),
    label(WIDTH - RIGHT + 8, placeY(0.013), "with verification"),
    label(WIDTH - RIGHT + 8, placeY(0.2), "a person decides"),
    "</svg>",
    "",
  ].join("\n");
}

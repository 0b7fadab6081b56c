// The real service and Debian's Chromium for tests of the console: pages visited as people visit them,
// and what must hold on every one of them.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { browser as command } from "../_chromium.ts";
import { WAIT_MS_MAX } from "../_patience.ts";
import { startCommand, type Started } from "../cli/_process.ts";
import { reduceColors } from "./_palette.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const PHONE = 390;
const LAPTOP = 1280;
const WALL = 2000;
const HEIGHTS: Readonly<Record<number, number>> = { [PHONE]: 844 };
const HEIGHT = 900;
const GUIDE_PICTURES = fileURLToPath(new URL("../../docs/guide/console", import.meta.url));

interface Facts {
  readonly url: string;
  readonly admin_key: string;
  /** Absent where no first start has made one. */
  readonly console_link?: string;
}

export interface ConsoleStage {
  readonly url: string;
  readonly adminKey: string;
  /** As the start prints it. */
  readonly consoleLink: string;
  /** An empty page of a fresh visitor, watched; nobody is logged in. */
  newVisitor(): Promise<Visitor>;
  /** A page of the console with an admin logged in. */
  visit(place: string): Promise<Visitor>;
  /** Asks the API with the admin's key. */
  ask<Answer>(method: string, route: string, body?: unknown): Promise<Answer>;
  close(): Promise<void>;
}

/** Starts the service over the sample history (unless `flags` say otherwise) and a browser. */
export async function openConsole(
  flags: readonly string[] = [],
  environment: Record<string, string> = {},
): Promise<ConsoleStage> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "trustrank-console-"));
  const serve = ["serve", "--port", "0", "--data-dir", dataDir, "--json", ...flags];
  const started: Started = startCommand(serve, environment);
  const facts = JSON.parse(await started.firstLine) as Facts;
  return openConsoleOf(facts, async () => {
    started.process.kill("SIGTERM");
    await started.ended;
    rmSync(dataDir, { recursive: true, force: true });
  });
}

/** A browser before a service that runs; `stop` is called once the browser has ended. */
export async function openConsoleOf(
  facts: Facts,
  stop: () => Promise<void>,
): Promise<ConsoleStage> {
  const browser: Browser = await chromium.launch({ executablePath: pathOf(command!), args: FLAGS });
  const stage: ConsoleStage = {
    url: facts.url,
    adminKey: facts.admin_key,
    consoleLink: facts.console_link ?? "",
    async newVisitor() {
      const context = await browser.newContext({
        viewport: { width: LAPTOP, height: HEIGHT },
        timezoneId: "UTC",
        colorScheme: "light",
      });
      return watched(context, await context.newPage(), facts.url);
    },
    async visit(place) {
      const visitor = await stage.newVisitor();
      await visitor.logIn(facts.admin_key);
      await visitor.go(place);
      return visitor;
    },
    async ask<Answer>(method: string, route: string, body?: unknown) {
      const response = await fetch(facts.url + route, {
        method,
        headers: {
          authorization: `Bearer ${facts.admin_key}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`);
      return (text === "" ? undefined : JSON.parse(text)) as Answer;
    },
    async close() {
      await browser.close();
      await stop();
    },
  };
  return stage;
}

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What a browser told of what must not happen: violations, errors, requests elsewhere. */
  readonly complaints: string[];
  logIn(key: string): Promise<void>;
  /** Goes to `#/place` and waits until it has its data. */
  go(place: string): Promise<void>;
  /**
   * Nothing was violated, no error on the page; nothing sticks out at any width; axe finds nothing on a phone and
   * on a laptop, light and dark; charts have something on them. With TRUSTRANK_PICTURES pictures are taken.
   */
  readonly expectSound: (name?: string) => Promise<void>;
}

function watched(context: BrowserContext, page: Page, url: string): Visitor {
  const complaints: string[] = [];
  page.setDefaultTimeout(WAIT_MS_MAX);
  page.on("pageerror", (error) => complaints.push(`error: ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    // An answer of 4xx that the page handles is told by the browser as an error too.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) complaints.push(`console: ${message.text()}`);
  });
  page.on("response", (response) => {
    const isFile = response.url().includes("/console/assets/");
    if (isFile && !response.ok()) complaints.push(`${response.status()} ${response.url()}`);
  });
  page.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(url) && !asked.startsWith("data:")) complaints.push(`asked ${asked}`);
  });
  const visitor: Visitor = {
    page,
    context,
    complaints,
    async logIn(key) {
      await page.goto(`${url}/console`);
      await page.getByLabel("API key").fill(key);
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByRole("navigation", { name: "Pages" }).waitFor();
    },
    async go(place) {
      await page.goto(`${url}/console#/${place}`);
      await settled(page);
    },
    expectSound: (name) => expectSound(page, complaints, name),
  };
  return visitor;
}

/** Until the page has its heading and nothing says that it is still loading. */
async function settled(page: Page): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await expect.poll(() => page.locator("main .loading").count()).toBe(0);
}

async function expectSound(page: Page, complaints: string[], name?: string): Promise<void> {
  for (const width of [WALL, PHONE, LAPTOP]) {
    await page.setViewportSize({ width, height: HEIGHTS[width] ?? HEIGHT });
    // A chart follows its place's width after a frame or two.
    await page.waitForTimeout(150);
    expect(await page.evaluate(stickingOut), `${width} px`).toEqual([]);
    expect(await page.evaluate(blankCharts), `${width} px`).toEqual([]);
    if (width === WALL) continue;
    for (const theme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: theme });
      await page.waitForTimeout(100);
      expect(await findingsOf(page), `${width} px, ${theme}`).toEqual([]);
      const kind = `${width === PHONE ? `-${PHONE}` : ""}${theme === "dark" ? "-dark" : ""}`;
      if (name !== undefined) await picture(page, name + kind);
    }
    await page.emulateMedia({ colorScheme: "light" });
  }
  expect(complaints).toEqual([]);
}

/** Into the folder that TRUSTRANK_PICTURES names: what is seen first for the guide, whole pages elsewhere. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = path.resolve(process.env["TRUSTRANK_PICTURES"] ?? "");
  if (!process.env["TRUSTRANK_PICTURES"]) return;
  mkdirSync(folder, { recursive: true });
  const isWhole = folder !== path.resolve(GUIDE_PICTURES);
  const taken = await page.screenshot({ fullPage: isWhole });
  writeFileSync(path.join(folder, `${name}.png`), reduceColors(taken));
}

/** By the debugging protocol: a script element would be stopped by the page's own policy. */
async function findingsOf(page: Page): Promise<unknown[]> {
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: AXE });
  const run =
    "axe.run(document, { resultTypes: ['violations'] }).then((result) => " +
    "JSON.stringify(result.violations.map(({ id, nodes }) => " +
    "[id, nodes.slice(0, 5).map(({ html, failureSummary }) => [html.slice(0, 200), failureSummary])])))";
  const { result } = await session.send("Runtime.evaluate", {
    expression: run,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  return JSON.parse(String(result.value)) as unknown[];
}

/** Runs in the page: elements wider than the window that no scroll region holds, or than their card. */
function stickingOut(): string[] {
  const found: string[] = [];
  const isScrolled = (element: Element) =>
    element.closest(".scroll, .wide, pre, .long, dialog, .skip, [hidden]") !== null;
  for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0 || isScrolled(element)) continue;
    const card = element.parentElement?.closest(".card")?.getBoundingClientRect();
    const right = Math.min(document.documentElement.clientWidth, card?.right ?? Infinity);
    if (box.right > right + 1 || box.left < -1) {
      found.push(
        `${element.tagName}.${element.getAttribute("class")} ${Math.round(box.right)} > ${right}`,
      );
    }
  }
  return found.slice(0, 10);
}

/** Runs in the page: charts without a line, or whose axes have fewer than two labels. */
function blankCharts(): string[] {
  const isBlank = (chart: Element) =>
    chart.querySelector("path, polyline, circle, rect") === null ||
    chart.querySelectorAll('text[text-anchor="end"]').length < 2;
  return [...document.querySelectorAll(".plot")]
    .filter(isBlank)
    .map((chart) => chart.getAttribute("aria-label") ?? "");
}

function pathOf(name: string): string {
  for (const folder of (process.env["PATH"] ?? "").split(":")) {
    const file = path.join(folder, name);
    try {
      readFileSync(file, { flag: "r" });
      return file;
    } catch {
      continue;
    }
  }
  throw new Error(`${name} is not on the path`);
}

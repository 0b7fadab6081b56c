// The page made from the OpenAPI document: over both servers, with text that would be markup, and in a
// browser that holds it to its policy.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DocsPage } from "../../../src/http/openapi/page/page.ts";
import type { OpenApiDocument } from "../../../src/http/openapi/page/shown.ts";
import { buildOpenApiDocument } from "../../../src/http/openapi/document.ts";
import { DOCS_STYLE } from "../../../src/markup/style.ts";
import { ROUTES } from "../../../src/http/routes/table.ts";
import { DebuggedPage } from "../../_chromium.ts";
import { WAIT_MS_MAX } from "../../_patience.ts";
import { call } from "../_client.ts";
import { describeServers } from "../_servers.ts";
import { openTestServer, type TestServer } from "../_setup.ts";
import { needs } from "../../_needs.ts";

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
];

describeServers("GET /docs", (service) => {
  it.each([
    ["/docs", "text/html; charset=utf-8"],
    ["/docs/style.css", "text/css; charset=utf-8"],
  ])("%s needs no key and may load its own style sheet alone", async (place, mediaType) => {
    const answer = await call(service, place, { key: null });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe(mediaType);
    expect(answer.headers.get("content-security-policy")?.split("; ")).toEqual(POLICY);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
    const head = await call(service, place, { key: null, method: "HEAD" });
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(head.headers.get("content-length")).toBe(answer.headers.get("content-length"));
  });

  it("gives out the document without a key, alike as JSON and MessagePack", async () => {
    const answer = await call(service, "/openapi.json", { key: null });
    expect([answer.status, answer.json.openapi]).toEqual([200, "3.1.0"]);
    const accept = { accept: "application/msgpack" };
    const packed = await call(service, "/openapi.json", { key: null, headers: accept });
    expect(packed.headers.get("content-type")).toBe("application/msgpack");
  });

  it("has every operation, and every link within it leads somewhere", async () => {
    const { text } = await call(service, "/docs", { key: null });
    const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!));
    for (const { name, path: place } of ROUTES) {
      expect(ids).toContain(`op-${name}`);
      expect(text).toContain(place);
    }
    const targets = [...text.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id!);
    expect(targets.filter((target) => !ids.has(target))).toEqual([]);
    const others = [...text.matchAll(/ (?:href|src)="([^#"][^"]*)"/g)].map(([, target]) => target);
    expect(new Set(others)).toEqual(new Set(["docs/style.css", "openapi.json"]));
  });

  it("keeps the operations that have all words of a filter, and says how many", async () => {
    const shown = async (filter: string) => {
      const { text } = await call(service, `/docs?filter=${encodeURIComponent(filter)}`, {
        key: null,
      });
      return {
        text,
        names: [...text.matchAll(/<article id="op-([^"]+)"/g)].map(([, name]) => name!),
      };
    };
    const { text, names } = await shown("post REVIEW");
    expect(names.length).toBeGreaterThan(0);
    expect(names.length).toBeLessThan(ROUTES.length / 4);
    const wanted = ROUTES.filter(
      ({ method, path: place }) => method === "POST" && place.includes("/reviews"),
    );
    for (const { name } of wanted) expect(names).toContain(name);
    expect(text).toContain(`${names.length} operations have “post REVIEW”`);
    expect(text).toContain('value="post REVIEW"');
    const single = await shown("policy zzz");
    expect(single.names).toEqual([]);
    expect(single.text).toContain("No operation has");
    expect((await shown("  ")).names.length).toBe(ROUTES.length);
    expect((await shown(`"><script>`)).text).not.toContain("<script>");
  });

  it("collapses every operation and message, and opens the few that a filter leaves", async () => {
    const open = (text: string) => [...text.matchAll(/<details[^>]* open>/g)].length;
    const { text } = await call(service, "/docs", { key: null });
    expect(open(text)).toBe(0);
    const found = await call(service, "/docs?filter=/openapi.json", { key: null });
    // The group, and the operation in it.
    expect(open(found.text)).toBe(2);
  });
});

describe("commands of the page", needs("curl"), () => {
  let service: TestServer;
  beforeAll(async () => {
    service = await openTestServer("node");
  });
  afterAll(() => service.stop());

  it("ask what they are meant to ask", async () => {
    const { text } = await call(service, "/docs", { key: null });
    const parts = text.split('<article id="op-').slice(1);
    const script = parts.map((part) => {
      const [, shown] = /<pre[^>]*>([^<]*)<\/pre>/.exec(part)!;
      const command = shown!.replaceAll("&quot;", '"').replaceAll("&#39;", "'");
      return command
        .replaceAll("&amp;", "&")
        .replace("curl ", "curl -so /dev/null -w '%{http_code} ' ");
    });
    const env = { ...process.env, BUREAU: service.base, KEY: service.admin };
    const folder = await mkdtemp(path.join(tmpdir(), "trustrank-curl-"));
    await writeFile(path.join(folder, "lines.ndjson"), "{}\n");
    const options = { env, cwd: folder };
    const { stdout } = await promisify(execFile)("sh", ["-c", script.join("\n")], options);
    await rm(folder, { recursive: true });
    const names = parts.map((part) => part.slice(0, part.indexOf('"')));
    const statuses = stdout.trim().split(" ");
    expect(statuses.length).toBe(ROUTES.length);
    // Envoy names the agent by a header, and not found is what this service runs without.
    const odd = names.flatMap((name, at) => {
      const expected = name.startsWith("gateway_envoy") ? /400/ : /^20[0-2]$|403|404|422/;
      return expected.test(statuses[at]!) ? [] : [`${name}: ${statuses[at]}`];
    });
    expect(odd).toEqual([]);
  });
});

describe("the page", () => {
  const HOSTILE = `"><script>alert(1)</script><img src=x onerror='x'>&\`<b>\``;
  const page = (): string => {
    const name = "x" as const;
    const response = { description: HOSTILE, schema: "Problem" };
    const route = {
      name,
      method: "GET" as const,
      path: `/x/${HOSTILE}`,
      summary: HOSTILE,
      access: "none" as const,
      query: { [HOSTILE]: { description: HOSTILE, values: [HOSTILE], isRequired: true } },
      responses: { 200: response },
      isSynchronous: true,
    };
    const document = buildOpenApiDocument([route], HOSTILE) as unknown as OpenApiDocument;
    return new DocsPage(document).render();
  };

  it("shows hostile text as text", () => {
    const tags = new Set([...page().matchAll(/<([a-z]+)\b/g)].map(([, tag]) => tag));
    for (const tag of ["script", "img"]) expect(tags).not.toContain(tag);
    expect(page()).toContain("&quot;&gt;&lt;script&gt;");
    expect(page()).toContain("<code>&lt;b&gt;</code>");
    // Every attribute is ours: none got out of its quotes.
    const names = [...page().matchAll(/<[a-z][^<>]*>/g)].flatMap(([tag]) =>
      [...tag.replaceAll(/"[^"]*"/g, '""').matchAll(/ ([\w-]+)(?==)/g)].map(([, name]) => name!),
    );
    expect([...new Set(names)].toSorted()).toEqual(
      "action aria-label charset class content for href id lang maxlength name placeholder rel role tabindex type value".split(
        " ",
      ),
    );
  });

  it("has no style, script or handler of its own in its markup, and its sheet loads nothing", () => {
    const document = buildOpenApiDocument(ROUTES, "1") as unknown as OpenApiDocument;
    const text = new DocsPage(document).render();
    expect(text).not.toMatch(/<script|<style|\sstyle=|\son\w+=|javascript:/i);
    expect(DOCS_STYLE).not.toMatch(/@import|url\(/);
  });
});

// Skipped without a browser: install the Debian package `chromium`.
describe("in a browser", needs("chromium"), () => {
  let service: TestServer;
  let page: DebuggedPage;
  beforeAll(async () => {
    service = await openTestServer("uws");
    page = await DebuggedPage.open();
    for (const domain of ["Page", "Network", "Log", "Runtime", "Audits"]) {
      await page.send(`${domain}.enable`);
    }
    const loaded = page.next("Page.loadEventFired");
    await page.send("Page.navigate", { url: `${service.base}/docs` });
    await loaded;
  }, WAIT_MS_MAX);
  afterAll(async () => {
    await page?.close();
    await service?.stop();
  });

  const eventsOf = (method: string) => page.events.filter((event) => event.method === method);

  it("shows every operation in the style of its sheet", async () => {
    const count = await page.evaluate('document.querySelectorAll("article[id^=op-]").length');
    expect(count).toBe(ROUTES.length);
    const style = "getComputedStyle(document.querySelector('table')).borderCollapse";
    expect(await page.evaluate(style)).toBe("collapse");
  });

  it("asks this service alone, and breaks no rule of its policy", async () => {
    const asked = eventsOf("Network.requestWillBeSent").map(({ params }) => {
      return (params["request"] as { url: string }).url;
    });
    expect(asked.toSorted()).toEqual([`${service.base}/docs`, `${service.base}/docs/style.css`]);
    const complaints = [
      "Audits.issueAdded",
      "Log.entryAdded",
      "Runtime.consoleAPICalled",
      "Runtime.exceptionThrown",
      "Network.loadingFailed",
    ].flatMap(eventsOf);
    expect(complaints).toEqual([]);
  });

  // Behind the case above: the browser notes jumps that no person has made.
  it("is a few screens tall, and a link to an operation opens it and its group", async () => {
    const height = "document.documentElement.scrollHeight";
    expect(await page.evaluate(height)).toBeLessThan(5000);
    const isSeen = 'document.querySelector("#op-verify").checkVisibility()';
    expect(await page.evaluate(isSeen)).toBe(false);
    await page.evaluate('location.hash = "#op-verify"');
    expect(await page.evaluate(isSeen)).toBe(true);
    await page.evaluate('location.hash = "#schema-Problem"');
    const message = 'document.querySelector("#schema-Problem").checkVisibility()';
    expect(await page.evaluate(message)).toBe(true);
  });

  it("would have told of a violation", async () => {
    const told = page.next("Log.entryAdded");
    await page.evaluate(
      "document.body.append(Object.assign(document.createElement('img'), { src: '/x.png' }))",
    );
    await told;
    expect(JSON.stringify(eventsOf("Log.entryAdded"))).toContain("Content Security Policy");
  });
});

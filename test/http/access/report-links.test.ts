// Links to reports: good for one run and for a while, made by this process and by nobody else.
import { expect, it } from "vitest";
import {
  KAIZEN_REPORT_LINK_LIFE_MS,
  KaizenReportLinks,
} from "../../../src/http/access/report-links.ts";

const KEY = new Uint8Array(32).fill(7);
const START_MS = Date.parse("2026-03-01T12:00:00.500Z");
const RUN = "k-20260301-120000500";

function open(key = KEY) {
  const clock = { nowMs: START_MS };
  const links = new KaizenReportLinks(key, () => clock.nowMs);
  const { url, expires_at } = links.createLink(RUN);
  return { clock, links, token: url.split("token=")[1]!, url, expires_at };
}

it("opens its run until it expires", () => {
  const { clock, links, token, url, expires_at } = open();
  expect(url).toMatch(/^\/v1\/kaizen\/runs\/k-20260301-120000500\/report\?token=\d+\.[\w-]{43}$/);
  expect(Date.parse(expires_at) - START_MS).toBeGreaterThanOrEqual(KAIZEN_REPORT_LINK_LIFE_MS);
  expect(links.isTokenValid(RUN, token)).toBe(true);
  clock.nowMs = Date.parse(expires_at) - 1;
  expect(links.isTokenValid(RUN, token)).toBe(true);
  clock.nowMs += 1;
  expect(links.isTokenValid(RUN, token)).toBe(false);
});

it("opens nothing else", () => {
  const { links, token } = open();
  const [expiry = "", signature = ""] = token.split(".");
  expect(links.isTokenValid("k-20260301-120000501", token)).toBe(false);
  expect(open(new Uint8Array(32).fill(8)).links.isTokenValid(RUN, token)).toBe(false);
  const flipped = signature.startsWith("A") ? `B${signature.slice(1)}` : `A${signature.slice(1)}`;
  for (const forged of [
    "",
    ".",
    expiry,
    `${expiry}.`,
    `${Number(expiry) + 1}.${signature}`,
    `0${expiry}.${signature}`,
    `${expiry}.${flipped}`,
    `${token}=`,
    `${token}${token}`,
    ` ${token}`,
  ]) {
    expect(links.isTokenValid(RUN, forged), forged).toBe(false);
  }
});

// Small market for the tests of credibility: auditors as seeds who know the honest buyers, buyers
// who report on sellers, one fraud, and a ring invented to praise the fraud.
import type { OutcomeRequest } from "../../src/contract/schemas/outcomes.ts";

const DAY_MS = 86_400_000;
const BUYERS = 12;
const SELLERS = 10;
export const FRAUD = "agent://shop/fraud";
export const NEWCOMER = "agent://shop/newcomer";
export const AUDITOR = "agent://audit/0";
export const BUYER = "agent://buyer/0";
export const SEEDS = "agent://audit/*";

type Told = Omit<OutcomeRequest, "settled_at"> & { settled_at: number };

function told(reporter: string, subject: string, outcome: 0 | 1, atMs: number): Told {
  return { reporter, subject, outcome, stakes: 10, grade: "escrow", settled_at: atMs };
}

/** Two months: auditors deal with buyers, buyers with sellers, and the fraud fails often. */
export function honestHistory(nowMs: number): Told[] {
  const list: Told[] = [];
  for (let day = 60; day > 0; day--) {
    const atMs = nowMs - day * DAY_MS;
    const buyer = `agent://buyer/${day % BUYERS}`;
    list.push(told(`agent://audit/${day % 3}`, buyer, 1, atMs));
    for (let i = 0; i < 3; i++) {
      const seller = `agent://shop/seller-${(day * 3 + i) % SELLERS}`;
      list.push(told(buyer, seller, 1, atMs + 1000 * i), told(seller, buyer, 1, atMs + 1000 * i));
    }
    if (day % 4 === 0) list.push(told(buyer, FRAUD, 0, atMs));
  }
  return list;
}

/** Twenty invented agents, five successes each for the fraud, and praise for one another. */
export function ringReports(nowMs: number, wave: number): Told[] {
  const member = (i: number) => `agent://ring/${i % 20}`;
  return Array.from({ length: 20 }, (_, i) => {
    const praise = Array.from({ length: 5 }, (_each, k) =>
      told(member(i), FRAUD, 1, nowMs - (100 - wave * 10 - k) * 1000),
    );
    const atMs = nowMs - 200_000;
    return [
      ...praise,
      told(member(i), member(i + 1), 1, atMs),
      told(member(i), member(i + 2), 1, atMs),
    ];
  }).flat();
}

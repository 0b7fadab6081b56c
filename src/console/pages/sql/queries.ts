// Example SQL queries, and the history of queries run in this browser (answers are not kept).

export interface SqlExample {
  readonly question: string;
  readonly sql: string;
}

export const SQL_EXAMPLES: readonly SqlExample[] = [
  {
    question: "Outcomes and failures by day",
    sql: `SELECT day, sum(outcomes)::BIGINT AS outcomes, sum(failures)::BIGINT AS failures
FROM agents_daily GROUP BY day ORDER BY day`,
  },
  {
    question: "Who cost the most in the last 30 days?",
    sql: `SELECT subject, round(sum(stakes), 2) AS lost, count(*) AS failures
FROM outcomes
WHERE outcome = 0 AND agent_fault AND settled_at > now()::TIMESTAMP - INTERVAL 30 DAYS
GROUP BY subject ORDER BY lost DESC LIMIT 15`,
  },
  {
    question: "What was denied, and by which rule?",
    sql: `SELECT coalesce(log_reason, decision) AS reason, sum(weight)::BIGINT AS denied
FROM decisions WHERE effective = 'deny'
GROUP BY reason ORDER BY denied DESC`,
  },
  {
    question: "How many agents does each tier have?",
    sql: `SELECT tier, count(*) AS agents
FROM agents GROUP BY tier ORDER BY tier`,
  },
  {
    question: "Whose failures rose in the last two weeks?",
    sql: `SELECT subject,
  count(*) FILTER (settled_at >= now()::TIMESTAMP - INTERVAL 14 DAYS) AS recent,
  round(avg(1 - outcome) FILTER (settled_at >= now()::TIMESTAMP - INTERVAL 14 DAYS), 3) AS rate_now,
  round(avg(1 - outcome) FILTER (settled_at < now()::TIMESTAMP - INTERVAL 14 DAYS), 3) AS rate_before
FROM outcomes WHERE agent_fault
GROUP BY subject HAVING rate_now > coalesce(rate_before, 0)
ORDER BY rate_now - coalesce(rate_before, 0) DESC LIMIT 20`,
  },
  {
    question: "Which reporters say mostly failures?",
    sql: `SELECT reporter, outcomes, subjects, round(failure_rate, 3) AS failure_rate
FROM reporters WHERE outcomes >= 5
ORDER BY failure_rate DESC LIMIT 20`,
  },
  {
    question: "Were the foretold risks right?",
    sql: `SELECT round(d.failure_probability, 1) AS foretold, count(*) AS settled,
  round(avg(1 - o.outcome), 3) AS failed
FROM decisions AS d JOIN outcomes AS o USING (request_id)
WHERE d.leg = 'a_to_b' AND o.agent_fault
GROUP BY foretold ORDER BY foretold`,
  },
  {
    question: "What does a column hold?",
    sql: "SUMMARIZE outcomes",
  },
];

const HISTORY_STORAGE_KEY = "trustrank.sql";
const KEPT_MAX = 40;
const LENGTH_MAX = 20_000;

/** What storage holds; nothing where the browser keeps none or holds something else. */
export function readPastQueries(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(HISTORY_STORAGE_KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

/** Puts a question first, and returns them all. */
export function savePastQuery(sql: string): string[] {
  const others = readPastQueries().filter((each) => each !== sql);
  const questions = sql.length > LENGTH_MAX ? others : [sql, ...others].slice(0, KEPT_MAX);
  try {
    localStorage.setItem(HISTORY_STORAGE_KEY, JSON.stringify(questions));
  } catch {
    // Without storage there is no history.
  }
  return questions;
}

export function clearPastQueries(): string[] {
  try {
    localStorage.removeItem(HISTORY_STORAGE_KEY);
  } catch {
    // As above.
  }
  return [];
}

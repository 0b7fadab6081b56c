// Reports into the directory of a fixture: the same outcomes at every commit, so that each such
// directory must score as one that gets them anew.

/** Outcomes settle here on; fixtures are made within a week, the age that the service takes. */
export const SETTLED_MS = Date.UTC(2026, 10, 22, 12);
const STEP_MS = 60_000;

export const SOURCE = {
  id: "doc:upgrade",
  body: { text: "The invoice of March totals 840 EUR.", kind: "text/plain", title: "Invoice" },
};

/** Two subjects, one good and one not, each reported on by others. */
export const REPORTS = Array.from({ length: 24 }, (_, index) => ({
  subject: index % 3 === 2 ? "agent://upgrade/unsteady" : "agent://upgrade/steady",
  reporter: `agent://upgrade/reporter-${index % 8}`,
  outcome: index % 6 === 5 ? (0 as const) : (1 as const),
  stakes: 10 + index * 7,
  grade: "counterparty" as const,
  id: `upgrade-${index}`,
  settled_at: SETTLED_MS + index * STEP_MS,
}));

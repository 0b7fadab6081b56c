// The one route table: what is served, documented, guarded and counted.
import type { Route } from "./route.ts";
import { ADMIN_ROUTES } from "./routes-admin.ts";
import { AUTHZEN_ROUTES } from "./routes-authzen.ts";
import { CREDIBILITY_ROUTES } from "./routes-credibility.ts";
import { DECISION_ROUTES } from "./routes-decisions.ts";
import { EVIDENCE_ROUTES } from "./routes-evidence.ts";
import { GATEWAY_ROUTES } from "./routes-gateway.ts";
import { KAIZEN_ROUTES } from "./routes-kaizen.ts";
import { OUTCOME_ROUTES } from "./routes-outcomes.ts";
import { REPORTER_ROUTES } from "./routes-reporters.ts";
import { SCORE_ROUTES } from "./routes-score.ts";
import { SERVICE_ROUTES } from "./routes-service.ts";

export const ROUTES: readonly Route[] = [
  ...SCORE_ROUTES,
  ...GATEWAY_ROUTES,
  ...AUTHZEN_ROUTES,
  ...OUTCOME_ROUTES,
  ...REPORTER_ROUTES,
  ...EVIDENCE_ROUTES,
  ...DECISION_ROUTES,
  ...KAIZEN_ROUTES,
  ...CREDIBILITY_ROUTES,
  ...ADMIN_ROUTES,
  ...SERVICE_ROUTES,
];

// Route table: the one list of routes that are served, documented, guarded and counted.
import type { Route } from "../route.ts";
import { ADMIN_ROUTES } from "./admin.ts";
import { AGENT_ROUTES } from "./agents.ts";
import { AUTHZEN_ROUTES } from "./authzen.ts";
import { BACKTEST_ROUTES, POLICY_DIFF_ROUTES, POLICY_ROUTES } from "./policy.ts";
import { CHANGE_ROUTES } from "./changes.ts";
import { CLUSTER_ROUTES } from "./cluster.ts";
import { CONDITION_ROUTES } from "./conditions.ts";
import { CONSOLE_ROUTES } from "../console/routes.ts";
import { CREDIBILITY_ROUTES, KAIZEN_ROUTES } from "./kaizen.ts";
import { DECISION_ROUTES } from "./decisions.ts";
import { OPENAPI_ROUTES } from "./openapi.ts";
import { DAILY_SCORE_ROUTES, EXPORT_ROUTES } from "./exports.ts";
import { EVIDENCE_ROUTES } from "./evidence.ts";
import { GATEWAY_ROUTES } from "./gateway.ts";
import { INDEX_ROUTES } from "./index-page.ts";
import { NAMESPACE_ROUTES } from "./namespaces.ts";
import { OUTCOME_ROUTES } from "./outcomes.ts";
import { QUERY_ROUTES } from "./query.ts";
import { QUOTA_ROUTES } from "./quotas.ts";
import { REPORTER_ROUTES, SIGNING_KEY_ROUTES } from "./reporters.ts";
import { REPORT_ROUTES } from "../reports/routes.ts";
import { REVIEW_ROUTES } from "./reviews.ts";
import { SCORE_ROUTES } from "./score.ts";
import { SERVICE_ROUTES } from "./service.ts";
import { SIGNAL_ROUTES } from "./signals.ts";
import { WEBHOOK_ROUTES } from "./webhooks.ts";

export const ROUTES: readonly Route[] = [
  ...SCORE_ROUTES,
  ...AGENT_ROUTES,
  ...CHANGE_ROUTES,
  ...GATEWAY_ROUTES,
  ...AUTHZEN_ROUTES,
  ...OUTCOME_ROUTES,
  ...REPORTER_ROUTES,
  ...NAMESPACE_ROUTES,
  ...CONDITION_ROUTES,
  ...EVIDENCE_ROUTES,
  ...DECISION_ROUTES,
  ...REVIEW_ROUTES,
  ...REPORT_ROUTES,
  ...KAIZEN_ROUTES,
  ...CREDIBILITY_ROUTES,
  ...POLICY_ROUTES,
  ...BACKTEST_ROUTES,
  ...POLICY_DIFF_ROUTES,
  ...QUOTA_ROUTES,
  ...EXPORT_ROUTES,
  ...DAILY_SCORE_ROUTES,
  ...QUERY_ROUTES,
  ...WEBHOOK_ROUTES,
  ...SIGNAL_ROUTES,
  ...SIGNING_KEY_ROUTES,
  ...ADMIN_ROUTES,
  ...INDEX_ROUTES,
  ...SERVICE_ROUTES,
  ...CLUSTER_ROUTES,
  ...OPENAPI_ROUTES,
  ...CONSOLE_ROUTES,
];

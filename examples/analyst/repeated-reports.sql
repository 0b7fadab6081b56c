/* Whose reports of one agent repeat amounts and intervals? That is a script rather than dealings.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/repeated-reports.sql)" */
SELECT reporter, subject, outcomes, usual_stakes, round(same_stakes_share, 2) AS same_stakes_share,
  usual_gap_seconds, round(same_gap_share, 2) AS same_gap_share
FROM repeated_reports
ORDER BY repeated_reports.same_stakes_share * repeated_reports.same_gap_share DESC, outcomes DESC LIMIT 10;

/* Which reporters see more failures than others do of the same agents? Beyond 6 standard errors it is a finding.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/harsh-reporters.sql)" */
SELECT reporter, outcomes, subjects, failures, round(expected_failures, 1) AS expected_failures,
  round(failure_rate, 3) AS failure_rate, round(expected_failure_rate, 3) AS expected_failure_rate,
  round(deviation, 1) AS deviation
FROM reporter_severity ORDER BY reporter_severity.deviation DESC LIMIT 10;

/* Reporters who hardly ever report anything but failures.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/harsh-reporters.sql)" */
SELECT reporter, outcomes, subjects, failure_rate
FROM reporters WHERE outcomes >= 10 ORDER BY failure_rate DESC LIMIT 10;

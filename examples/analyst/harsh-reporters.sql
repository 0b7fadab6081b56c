/* Who reports hardly anything but failures: by the failure rate that the number of reports supports
   (the lower end of the 95 % interval).
   Run: npm run -s trustrank -- query "$(cat examples/analyst/harsh-reporters.sql)" */
SELECT reporter, outcomes, subjects, failure_rate,
  round((failure_rate + 1.92 / outcomes - 1.96 *
    sqrt(failure_rate * (1 - failure_rate) / outcomes + 0.96 / outcomes ** 2))
    / (1 + 3.84 / outcomes), 3) AS at_least
FROM reporters ORDER BY at_least DESC LIMIT 10;

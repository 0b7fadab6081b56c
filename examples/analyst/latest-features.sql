/* The features behind the latest decisions: the inputs of each score as they were when it was made.
   Run: npm run -s trustrank -- query "$(cat examples/analyst/latest-features.sql)" */
SELECT evaluated_at, subject, internal_score, mean, mean_variance, x_momentum, x_recent_failure,
  x_stakes_novelty, reason_codes
FROM decisions ORDER BY evaluated_at DESC LIMIT 5;

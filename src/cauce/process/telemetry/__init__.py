"""Reports of the own process to its operators: log lines on standard error, and OpenTelemetry if it is configured."""

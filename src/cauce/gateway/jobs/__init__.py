"""The job service over a fabric: uploads, read model, results, cancellation and expiry. No HTTP."""

"""The job service over a fabric: uploads, validation, read model, results, cancellation and expiry. No HTTP."""

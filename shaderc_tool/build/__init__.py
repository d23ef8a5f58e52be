"""Plan, run, cache and package."""

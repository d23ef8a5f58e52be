"""Turn an existing shader build into a manifest: record its compiler calls, fold them into variants."""

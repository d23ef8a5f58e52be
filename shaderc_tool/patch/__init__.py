"""Anchored patches on a checkout."""

"""Timings, side by side with the peer in one run, as ratios."""

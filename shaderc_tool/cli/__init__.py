"""The commands: parse and print only."""

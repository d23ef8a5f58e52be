"""YAML with positions to frozen values."""

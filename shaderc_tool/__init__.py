"""shaderpack: one YAML manifest in; compiled, embedded, verified and audited GPU shader bundles out."""

__version__ = "0.1.0"

"""binpackgen: one cluster profile in, a cluster that provably packs out."""

__version__ = "0.1.0"

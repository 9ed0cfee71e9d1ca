"""How the outcomes of a run are shown: one file per format."""

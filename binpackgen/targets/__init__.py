"""From the plan to documents: one module is one family of objects, each a pure function."""

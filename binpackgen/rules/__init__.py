"""Policy as code: one file is one rule, folders by subject."""

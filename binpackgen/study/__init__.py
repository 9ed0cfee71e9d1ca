"""What would happen: strategies side by side, the fewest nodes, the best weights; above the simulator.

    subject = read_subject(compile_profile("profiles/article.yaml"))
    comparison = compare(subject, strategies, source, Protocol(...))      compare.compare
    size = fewest_nodes(subject, ...)                                     sizing
    outcome = tune(...)                                                   tuning

Needs numpy; bounds need highspy (both in the extra `simulate`).
"""

"""A kind cluster from the compiled kind target: real kubelets, and containers that really run."""

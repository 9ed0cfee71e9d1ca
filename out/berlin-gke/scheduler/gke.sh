#!/bin/sh
# Usage: gke.sh CLUSTER [--location=LOCATION] [--project=PROJECT]
# Prefers full nodes for new pods, and removes empty nodes sooner.
exec gcloud container clusters update "$@" --autoscaling-profile=optimize-utilization

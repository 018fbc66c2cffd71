"""What the stack measures besides what its services report themselves, in Prometheus' format on one port."""

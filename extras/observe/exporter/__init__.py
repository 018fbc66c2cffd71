"""The exporter: figures that the services do not report themselves, in Prometheus' format, on one port."""

"""Runs of several measurements: of topologies one after the other, or of rising numbers of users."""

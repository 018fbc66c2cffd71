"""Runs of several measurements: of topologies one after another, or of rising numbers of users."""

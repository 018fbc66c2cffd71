"""Runs with several measurements: of one topology after another, or of rising numbers of users."""

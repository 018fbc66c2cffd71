"""A simulated camera: a client like any webcam program, which uploads a test picture with a clock."""

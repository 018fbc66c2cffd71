"""A simulated camera: a client, like any webcam program, that uploads a test picture with a clock."""

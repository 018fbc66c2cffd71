"""A class's copies of the stack, and their learners' results (docs/teaching-class.md)."""

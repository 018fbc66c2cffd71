"""A class's copies of the stack, and what their learners have done (docs/teaching-class.md)."""

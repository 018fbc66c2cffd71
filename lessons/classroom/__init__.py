"""What the learners of a class have done, for the instructor (docs/teaching-class.md)."""

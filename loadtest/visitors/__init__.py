"""Who comes to the theatre: one module per kind of visitor, and what they have in common."""

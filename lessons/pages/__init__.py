"""The lessons as web pages: files, written once, which the theatre's backend serves below /lessons/."""

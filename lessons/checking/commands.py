"""Long commands on a narrow screen, broken only where the shell allows it: a copy of them still runs."""


def broken(commands: str, width: int) -> list[str]:
    """The lines of a block. One longer than `width` gets ` \\` and a line break at a space outside quotes and
    comments; what has no such space stays as long as it is.
    """
    lines, quote = list[str](), ""
    for line in commands.splitlines():
        spaces, quote = _spaces(line, quote)
        begin, indent, deeper = 0, "", " " * (len(line) - len(line.lstrip()) + 4)
        while len(indent) + len(line) - begin > width and spaces:
            fitting = [space for space in spaces if len(indent) + space - begin + 2 <= width]
            options = [
                at
                for at in fitting
                if at > begin + width // 2 and (line[at + 1] in "-|" or line[at - 1] == ";")
            ]
            cut = max(options or fitting, default=spaces[0])
            lines.append(f"{indent}{line[begin:cut]} \\")
            spaces = [space for space in spaces if space > cut]
            begin, indent = cut + 1, deeper
        lines.append(indent + line[begin:])
    return lines


def _spaces(line: str, quote: str) -> tuple[list[int], str]:
    """Where a line may be broken, and the quote that is open at its end; `quote` is open at its beginning."""
    spaces, escaped = list[int](), False
    for at, letter in enumerate(line):
        if escaped or (letter == "\\" and quote != "'"):
            escaped = not escaped
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and line[at - 1 : at] in ("", " "):
            break  # a comment
        elif letter == " " and line[:at].strip():
            spaces.append(at)
    return spaces, quote

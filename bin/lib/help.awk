# Prints the commands of commands.txt in their groups, or the command `wanted` with what it takes; fails if there is none.
/^\[/ && !wanted { print "\n" substr($0, 2, length($0) - 2) }
/^[a-z]/ {
    name = $1
    shown = name == wanted
    found += shown
    sub(/^[^ ]+ +/, "")
    if (shown) print "make " name ": " $0
    if (!wanted) printf "  make %-13s %s\n", name, $0
}
/^    [A-Z]/ && shown { print }
/^[^a-z ]/ || /^$/ { shown = 0 }
END {
    if (!wanted) print "\nmake help load: what a command takes, here load."
    exit wanted && !found
}

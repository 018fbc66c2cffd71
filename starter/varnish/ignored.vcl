# Arguments and cookies of yours that change nothing on a page: IGNORE_ARGUMENTS and IGNORE_COOKIES.
# files.sh writes this file.

sub drop_ignored {
}

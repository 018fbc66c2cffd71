# What this deployment adds: nothing. settings.sh writes this list anew, into a folder that vcl_path names first, with
# the lines that the running stack needs.

# What this deployment adds: nothing. start.sh writes another extras.vcl, in a folder that vcl_path names first, with the
# lines that the running stack needs: handover.vcl, mirror.vcl, second.vcl.

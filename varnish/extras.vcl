# Empty on purpose. start.sh writes another extras.vcl, in a folder that vcl_path names first; it includes the files
# that the deployment needs: handover.vcl, second.vcl.

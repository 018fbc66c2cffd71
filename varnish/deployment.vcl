# Empty on purpose. start.sh writes another deployment.vcl, in a folder that vcl_path names first; it includes the files
# that the deployment needs: handover.vcl; and it declares the backend of each theatre.

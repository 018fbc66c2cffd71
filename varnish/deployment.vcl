# Empty on purpose. start.sh writes another deployment.vcl, in a folder that vcl_path names first; it includes the files
# that the deployment needs, such as handover.vcl, and declares the backend of each theatre.

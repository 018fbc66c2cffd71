# The seam: where the backend is, and nothing else. The tests put a backends.vcl of their own in a folder that vcl_path
# names first; every rule stays the same. (settings.sh does the same where the sockets are in another folder.)
#
# A path and not an address: it stays right when the backend's container is re-created under another address.

backend upstage {
    .path = "/run/proscenium/backend.sock";
    include "limits.vcl";
    include "probe.vcl";
}

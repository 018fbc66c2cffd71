# Large media stay on the disk. The backend names the file in X-Accel-Redirect, if nginx has said that it has the disk
# (X-Accel-Media), and sends the body to any other client: the two answers are variants, by Vary. What is kept here of
# the first is its headers; nginx takes the file from the disk, and what a client wants of it: a range, nothing if its
# copy is good.

sub vcl_deliver {
    if (resp.http.X-Accel-Redirect) {
        unset req.http.Range;
    }
}

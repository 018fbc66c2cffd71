# Time and connection limits of the backend. Included inside a backend { }.

include "times.vcl";
.max_connections = 200;         # one Twisted process: more requests at once would only wait inside it

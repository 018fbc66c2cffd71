# The article's configuration: the default one, and the article's rules, which the stack keeps in varnish/opendata.vcl.
vcl 4.1;

include "./default.vcl";
include "opendata.vcl";

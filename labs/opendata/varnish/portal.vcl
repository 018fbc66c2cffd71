# The article's configuration: the default one, and the rules that the stack has from the article, varnish/opendata.vcl.
vcl 4.1;

include "./default.vcl";
include "opendata.vcl";

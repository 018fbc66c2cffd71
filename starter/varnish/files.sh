# shellcheck shell=sh
# varnishd does not run as root, so it could not read files that only you may read. It gets a copy.
copied=/run/varnish

copy_files() {
    rm -rf "$copied"
    cp -r . "$copied"
    chmod -R a+rX "$copied"
}

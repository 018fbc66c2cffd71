-- ?start=N: a film's header, then the file from byte N on. The article's mod_flv_streaming did this; Debian removed it with
-- lighttpd 1.4.64, because mod_magnet can do it in a few lines.
local r = lighty.r
local path = r.req_attr["physical.path"]
local film = lighty.c.stat(path)
local start = tonumber(string.match(r.req_attr["uri.query"] or "", "^start=(%d+)$"))

-- Otherwise: the whole file.
if not film or not start or start == 0 or start >= film.st_size then
    return 0
end
r.resp_header["Content-Type"] = "video/x-flv"
r.resp_body.set({ "FLV\1\1\0\0\0\9\0\0\0\0", { filename = path, offset = start } })
return 200

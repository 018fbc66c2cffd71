-- wrk -s round_robin.lua URL -- PATH...: requests the paths one after another, over whichever connection is free.
-- https://github.com/wg/wrk/blob/master/SCRIPTING
local requests, last = {}, 0

function init(paths)
    for number, path in ipairs(paths) do
        requests[number] = wrk.format("GET", path)
    end
end

function request()
    last = last % #requests + 1
    return requests[last]
end

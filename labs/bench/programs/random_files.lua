-- wrk -s random_files.lua URL -- PATTERN FILES SEED: requests files at random; the pattern makes a path of a number.
-- https://github.com/wg/wrk/blob/master/SCRIPTING
local pattern, files

function init(arguments)
    pattern, files = arguments[1], tonumber(arguments[2])
    math.randomseed(tonumber(arguments[3]))
end

function request()
    return wrk.format("GET", string.format(pattern, math.random(files)))
end

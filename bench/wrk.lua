-- SPDX-License-Identifier: MIT
-- Sends the request in a file.  In each request, "{row}" becomes a random row and "{nonce}" another
-- random number.  Both have eight digits, so that all requests have the same length.  At the end it
-- prints the figures on one line.
--
-- wrk ... URL -- FILE FIRST-ROW ROWS SEED

local pieces, rows, nonces = {}, {}, {}
local first_row, last_row

function init(arguments)
    local file = assert(io.open(arguments[1], "rb"))
    local text = file:read("*a")
    file:close()
    first_row = tonumber(arguments[2])
    last_row = first_row + tonumber(arguments[3]) - 1
    math.randomseed(tonumber(arguments[4]))
    local from = 1
    for before, name, after in text:gmatch("(){(%l+)}()") do
        local places = name == "row" and rows or name == "nonce" and nonces
        if places then
            pieces[#pieces + 1] = text:sub(from, before - 1)
            pieces[#pieces + 1] = ""
            places[#places + 1] = #pieces
            from = after
        end
    end
    pieces[#pieces + 1] = text:sub(from)
end

function request()
    if #rows > 0 then
        local row = math.random(first_row, last_row)
        for i = 1, #rows do
            pieces[rows[i]] = row
        end
    end
    if #nonces > 0 then
        local nonce = math.random(10000000, 99999999)
        for i = 1, #nonces do
            pieces[nonces[i]] = nonce
        end
    end
    return table.concat(pieces)
end

function done(summary, latency)
    local e = summary.errors
    io.write(string.format(
        'figures {"requests": %d, "us": %d, "p50_us": %d, "p99_us": %d, "longest_us": %d,' ..
        ' "refused": %d, "broken": %d}\n',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
        latency.max, e.status, e.connect + e.read + e.write + e.timeout))
end

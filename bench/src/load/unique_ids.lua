-- Sends the first line of a file as body and replaces each PLACEHOLDER in it by a unique UUID.
-- The text before this sets wrk.method, BODIES (the path of the file) and RUN (hexadecimal digits unique to this run).
local PLACEHOLDER = "00000000-0000-4000-8000-000000000000"
local threads, parts, at = 0, {}, 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init()
  local whole = wrk.format(nil, nil, nil, io.lines(BODIES)())
  local head, from = RUN .. string.format("-%04x-4000-8000-", number), 1
  while true do
    local first, last = whole:find(PLACEHOLDER, from, true)
    if not first then break end
    parts[#parts + 1] = whole:sub(from, first - 1) .. head
    from = last + 1
  end
  parts[#parts + 1] = whole:sub(from)
end

function request()
  local all = {}
  for i = 1, #parts - 1 do
    at = at + 1
    all[#all + 1] = parts[i] .. string.format("%012x", at)
  end
  all[#all + 1] = parts[#parts]
  return table.concat(all)
end

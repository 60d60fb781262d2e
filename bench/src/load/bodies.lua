-- Sends the lines of a file as bodies, each thread in an order of its own.
-- The text before this sets wrk.method and BODIES, the path of the file.
local threads, requests, at = 0, {}, 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init()
  math.randomseed(number)
  for body in io.lines(BODIES) do
    requests[#requests + 1] = wrk.format(nil, nil, nil, body)
  end
  for i = #requests, 2, -1 do
    local j = math.random(i)
    requests[i], requests[j] = requests[j], requests[i]
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

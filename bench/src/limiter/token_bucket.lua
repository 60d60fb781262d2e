-- Takes tokens from all limits of a bucket or from none; returns 1 if granted.
-- KEYS[1]: the bucket. ARGV: amount, capacity, refill and period in ms, for each limit.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limits = #ARGV / 4

local fields = {}
for i = 1, limits do fields[i] = 'tk' .. i end
fields[limits + 1] = 'rf'
local old = redis.call('HMGET', KEYS[1], unpack(fields))
local elapsed = now - (tonumber(old[limits + 1]) or now)

local new = {}
for i = 1, limits do
  local amount, capacity = tonumber(ARGV[4 * i - 3]), tonumber(ARGV[4 * i - 2])
  local refill, period = tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i])
  local level = (tonumber(old[i]) or capacity) + elapsed * refill / period
  level = math.min(capacity, level)
  if level < amount then return 0 end
  new[2 * i - 1], new[2 * i] = fields[i], level - amount
end
new[2 * limits + 1], new[2 * limits + 2] = 'rf', now
redis.call('HSET', KEYS[1], unpack(new))
redis.call('PEXPIRE', KEYS[1], 600000)
return 1

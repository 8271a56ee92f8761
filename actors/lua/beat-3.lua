--[[
  Prolongs the session of a node, or makes it.

  Input:
    KEYS[1]  session of the node            {c}:sess:<inc>
    KEYS[2]  directory of living sessions   {c}:nodes (sorted set: incarnation, score: when its session ends)
    KEYS[3]  session of the node's previous incarnation, or KEYS[1] when there is none
    ARGV[1]  incarnation
    ARGV[2]  what the directory says of the node (opaque here)
    ARGV[3]  milliseconds until the session ends without another beat
    ARGV[4]  '1': make the session; '0': only prolong it
    ARGV[5]  previous incarnation, or ''
    ARGV[6]  prefix of session keys

  Output:
    { 0 }                                  the session is gone and was not made anew
    { 1, inc, value, inc, value, ... }     it lives; every living session, this one included
]]
if ARGV[4] == '1' then
  if ARGV[5] ~= '' then
    redis.call('DEL', KEYS[3])
    redis.call('ZREM', KEYS[2], ARGV[5])
  end
elseif redis.call('EXISTS', KEYS[1]) == 0 then
  return { 0 }
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- First a write that needs no memory: Redis then allows the others even when it is full (maxmemory).
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[3]), ARGV[1])

local answer = { 1 }
for _, inc in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local value = redis.call('GET', ARGV[6] .. inc)
  if value then
    answer[#answer + 1] = inc
    answer[#answer + 1] = value
  end
end
return answer

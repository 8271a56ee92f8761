--[[
  Finds the living owner of an actor. If it has none, the first candidate whose session lives becomes it.

  Input:
    KEYS[1]  owner of the actor             {c}:own:<actor>
    KEYS[2]  session of the first candidate, or KEYS[1] when there is none
    KEYS[3]  session of the second candidate, or KEYS[1] when there is none
    ARGV[1]  incarnation of the first candidate, or ''
    ARGV[2]  incarnation of the second candidate, or ''
    ARGV[3]  prefix of session keys (a session of any owner is in the same slot by its hash tag)
    ARGV[4]  milliseconds after which a claim nobody asks for is forgotten

  Output:
    { inc, value }   owner and what the directory says of it
    {}               no owner, and no candidate lives
]]
local owner = redis.call('GET', KEYS[1])
if owner then
  local value = redis.call('GET', ARGV[3] .. owner)
  if value then
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    return { owner, value }
  end
end
for index = 1, 2 do
  if ARGV[index] ~= '' then
    local value = redis.call('GET', KEYS[index + 1])
    if value then
      -- First a write that needs no memory: Redis then allows the other even when it is full (maxmemory).
      redis.call('DEL', KEYS[1])
      redis.call('SET', KEYS[1], ARGV[index], 'PX', ARGV[4])
      return { ARGV[index], value }
    end
  end
end
return {}

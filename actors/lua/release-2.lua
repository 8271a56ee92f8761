--[[
  Gives an actor up: to its heir if that lives, else to whoever asks next. Compare and delete.

  Input:
    KEYS[1]  owner of the actor          {c}:own:<actor>
    KEYS[2]  session of the heir, or KEYS[1] when there is none
    ARGV[1]  incarnation that gives it up
    ARGV[2]  incarnation of the heir, or ''
    ARGV[3]  milliseconds after which a claim nobody asks for is forgotten

  Output:
    0  the actor was not this incarnation's; nothing was changed
    1  released
    2  handed to the heir
]]
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
-- First a write that needs no memory: Redis then allows the other even when it is full (maxmemory).
redis.call('DEL', KEYS[1])
if ARGV[2] ~= '' and redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  return 2
end
return 1

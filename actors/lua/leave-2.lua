--[[
  Ends a session.

  Input:
    KEYS[1]  session of the node            {c}:sess:<inc>
    KEYS[2]  directory of living sessions   {c}:nodes
    ARGV[1]  incarnation

  Output:
    1 when the session lived, else 0
]]
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])

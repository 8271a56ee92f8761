import type { RedisClient } from '../core/redis-client.ts'

/**
 * What is wrong with the memory of a Redis, as sentences for operators; empty if nothing is. `INFO` is allowed where
 * `CONFIG` is not. Leases and queues must not be removed, whether they expire or not, so every policy but `noeviction`
 * is wrong as soon as there is a limit.
 */
export async function memoryWarnings(redis: Pick<RedisClient, 'info'>): Promise<string[]> {
  const info = await redis.info('memory')
  const value = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1]
  const limit = Number(value('maxmemory') ?? 0)
  const policy = value('maxmemory_policy') ?? 'noeviction'
  if (limit === 0) return []
  const warnings: string[] = []
  if (policy !== 'noeviction') {
    warnings.push(
      `Redis removes keys that Crier needs when it is full: maxmemory-policy is ${policy}. Set it to noeviction`,
    )
  }
  if (Number(value('used_memory') ?? 0) >= limit) {
    warnings.push('Redis is full (maxmemory). New jobs wait in PostgreSQL until it has memory. Raise maxmemory')
  }
  return warnings
}

import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { isFinal } from '../../src/domains/publishing/posts/state.ts'
import type { TargetProblem } from '../../src/domains/publishing/posts/tables.ts'
import { PLATFORMS } from '../../src/platforms/registry.ts'
import { createDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'
import { PublishingWorld } from './publishing-world.ts'

/**
 * A node is killed (SIGKILL) in the middle of a publication at every platform at once: the platforms have the posts, and
 * have not answered. Another node finishes, on each store of jobs.
 */

interface TargetState {
  readonly id: string
  readonly platform: string
  readonly status: Parameters<typeof isFinal>[0]
  readonly problem: TargetProblem | null
  readonly next_attempt_at: Date | null
  readonly attempt_id: string | null
}

/** Platforms that tell nobody what they have: the user decides. LinkedIn lists only the posts of organizations. */
const publishers = PLATFORMS.filter(({ publishing }) => publishing !== undefined)
const UNKNOWN = [
  ...publishers
    .filter(({ publishing }) => publishing?.reconcile === undefined && publishing?.repeatable !== true)
    .map(({ key }) => key),
  'linkedin',
]

test.each(['postgres', 'redis'] as const)(
  'a killed worker leaves no second post and no silence, on %s',
  async (store) => {
    const database = await createDatabase()
    const redis = store === 'redis' ? await startRedis() : undefined
    const world = await PublishingWorld.start({
      databaseUrl: database.url,
      ...(redis && { redisUrl: redis.url }),
      env: { JOB_TIMES: JSON.stringify({ pollMs: 300, sweepMs: 300, schedulesAfterMs: 0 }) },
    })
    try {
      const first = await world.node()
      await world.seed()
      await world.seedMedia()
      const held = holdReplies(world)
      const targets = await Promise.all(publishers.map(({ key }) => world.target(key)))
      const made = await world.post({ content: 'held once', title: 'held once', publishNow: true, targets })
      await waitFor(() => held.size === publishers.length, {
        what: `a post at each platform, not only ${[...held].join(', ')}`,
      })
      await first.kill()
      if (redis !== undefined) await flush(redis.url)
      // The leases end as if their time had passed.
      await world.pool.query('update post_targets set lease_until = now() where attempt_id is not null')
      await world.node()
      const read = async () => (await world.pool.query<TargetState>('select * from post_targets')).rows
      const ended = await waitFor(async () => {
        const rows = await read()
        return rows.every((row) => isFinal(row.status) || isUnknown(row)) ? rows : undefined
      })
      expect(ended).toHaveLength(made.length)
      for (const { platform, problem, status } of ended) {
        expect([platform, world.publishedAt(platform, 'held once').length]).toEqual([platform, 1])
        expect([platform, status, problem?.message]).toEqual(
          UNKNOWN.includes(platform)
            ? [platform, 'unconfirmed', expect.stringContaining('cannot find out')]
            : [platform, 'published', undefined],
        )
      }
    } finally {
      await world.stop()
      await redis?.stop()
      await database.drop()
    }
  },
)

function isUnknown({ attempt_id: attempt, next_attempt_at: next, problem, status }: TargetState): boolean {
  return status === 'unconfirmed' && next === null && attempt === null && problem?.whoActs === 'user'
}

/** The fakes do not answer the first request that publishes something. @returns the platforms that have published */
function holdReplies({ sandbox: { fakes } }: PublishingWorld): ReadonlySet<string> {
  const held = new Set<string>()
  for (const [key, { fake }] of fakes) {
    const handle = fake.handle.bind(fake)
    fake.handle = async (request) => {
      const before = fake.posts().length
      const reply = await handle(request)
      if (held.has(key) || fake.posts().length === before) return reply
      held.add(key)
      return new Promise(() => undefined)
    }
  }
  return held
}

async function flush(url: string): Promise<void> {
  const client = new Redis(url)
  await client.flushall()
  client.disconnect()
}

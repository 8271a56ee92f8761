import type { SendOptions } from '../../support/send.ts'
import type { Stage } from '../../support/stage.ts'

/** A heavy request that is sent whatever the registry contains. */
export interface HeavyCase {
  readonly name: string
  readonly route: string
  /** Creates what the request needs. */
  readonly prepare: (stage: Stage) => Promise<SendOptions> | SendOptions
}

const id = (index: number) => `01939e5c-7a10-7c3e-8f21-${index.toString(16).padStart(12, '0')}`

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

/** Requests whose cost was once unbounded. Each keeps the limits of its schema but for what its name says. */
export const heavyCases: readonly HeavyCase[] = [
  {
    name: 'preview of 29 February on a Monday',
    route: 'POST /api/posts/series/preview',
    prepare: ({ workspaceId }) => ({
      body: {
        workspaceId,
        recurrence: { rrule: 'FREQ=DAILY;BYMONTHDAY=29;BYMONTH=2,4;BYDAY=MO' },
        scheduledFor: '2030-12-31T09:00',
        timezone: 'Europe/Berlin',
        count: 100,
      },
    }),
  },
  {
    name: 'role with 5,000 scopes',
    route: 'POST /api/team/{workspaceId}/roles',
    prepare: ({ workspaceId }) => ({
      path: { workspaceId },
      body: { name: 'Moderator', scopes: many(5_000, (index) => `team:read${index}`) },
    }),
  },
  {
    name: 'bulk of 500 posts with 40 invalid targets each',
    route: 'POST /api/posts/bulk',
    prepare: ({ workspaceId }) => ({
      body: {
        workspaceId,
        posts: many(500, () => ({ content: 'Hello', targets: many(40, () => ({ accountId: 'x' })) })),
      },
    }),
  },
  {
    name: 'CSV with 60,000 columns',
    route: 'POST /api/posts/import',
    prepare: ({ workspaceId }) => ({
      body: { workspaceId, dryRun: true },
      file: {
        name: 'posts.csv',
        content: Buffer.from(`${many(60_000, (index) => `c${index}`).join()}\n${many(60_000, () => 'x').join()}`),
        type: 'text/csv',
      },
    }),
  },
  {
    name: 'studio project of 30 pages with 200 invalid layers each',
    route: 'POST /api/studio/projects',
    prepare: ({ workspaceId }) => ({
      body: {
        workspaceId,
        name: 'Tour',
        projectData: {
          schemaVersion: 1,
          pages: many(30, () => ({
            width: 1080,
            height: 1080,
            layers: many(200, () => ({ kind: 'box', left: 60, top: 60, width: 960, height: -1, color: 'red' })),
          })),
        },
      },
    }),
  },
  {
    name: 'post with 9,000 unknown fields',
    route: 'POST /api/posts',
    prepare: ({ workspaceId }) => ({
      body: { workspaceId, content: 'Hello', ...Object.fromEntries(many(9_000, (index) => [`f${index}`, 0])) },
    }),
  },
  {
    name: 'post with 20,000 invalid media',
    route: 'POST /api/posts',
    prepare: ({ workspaceId }) => ({ body: { workspaceId, content: 'Hello', media: many(20_000, () => 'x') } }),
  },
  {
    name: 'versions of four times 65,000 characters',
    route: 'GET /api/posts/{id}/versions',
    prepare: async ({ app, caller: { apiKey }, workspaceId }) => {
      const text = (seed: number) =>
        many(13_000, (index) => id((index + 1) * seed).slice(-4))
          .join(' ')
          .slice(0, 65_000)
      const made = await app.send('POST /api/posts', { apiKey, body: { workspaceId, content: text(1), draft: true } })
      if (made.status !== 201) throw new Error(`the post with versions could not be made: ${made.text}`)
      const path = { id: made.body.data._id as string }
      for (const seed of [7, 11, 13]) {
        const edited = await app.send('PATCH /api/posts/{id}', { apiKey, path, body: { content: text(seed) } })
        if (edited.status !== 200) throw new Error(`the post could not be edited: ${edited.text}`)
      }
      return { path }
    },
  },
]

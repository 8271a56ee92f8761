import { MINUTE } from '../../../core/clock.ts'
import { job, schedule } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'

export const renderStudioPages = job({
  name: 'studio.render',
  summary: 'Render pages of a studio project to pictures or a video',
  queue: 'media',
  data: Type.Object({ studioRenderId: Id }),
  attempts: 3,
  backoff: { firstMs: 2_000, maxMs: 60_000 },
  // The renderer ends itself before, with a message.
  timeoutMs: 45 * MINUTE,
  seenBy: 'studio:read',
  run: async ({ data, attempt, signal, log, progress, studio }) => {
    await studio.renderer.run(data.studioRenderId, { signal, log, progress, last: attempt.number >= attempt.of })
  },
})

export const failAbandonedRenders = schedule({
  name: 'studio.abandoned',
  summary: 'Mark renderings of studio projects as failed whose job was lost or removed',
  cron: '*/5 * * * *',
  run: async ({ studio }) => studio.renderer.failAbandoned(),
})

import { HOUR, MINUTE } from '../../../core/clock.ts'
import { job, schedule } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'

export const runAiJob = job({
  name: 'ai.run',
  summary: 'Write captions, derive a style, or explain figures',
  queue: 'ai',
  data: Type.Object({ aiJobId: Id }),
  attempts: 4,
  backoff: { firstMs: 2_000, maxMs: 60_000 },
  timeoutMs: 5 * MINUTE,
  seenBy: 'ai:use',
  run: async ({ data, attempt, signal, log, progress, ai }) => {
    await ai.runner.run(data.aiJobId, { signal, log, progress, last: attempt.number >= attempt.of })
  },
})

export const runTranscription = job({
  name: 'ai.transcribe',
  summary: 'Transcribe the speech of a media file',
  queue: 'ai',
  data: Type.Object({ aiJobId: Id }),
  attempts: 4,
  backoff: { firstMs: 5_000, maxMs: 5 * MINUTE },
  timeoutMs: 2 * HOUR,
  seenBy: 'ai:use',
  run: async ({ data, attempt, signal, log, progress, ai }) => {
    await ai.runner.run(data.aiJobId, { signal, log, progress, last: attempt.number >= attempt.of })
  },
})

export const failAbandonedAiJobs = schedule({
  name: 'ai.abandoned',
  summary: 'Mark AI jobs as failed that were lost or waited too long, and release their credits',
  cron: '*/5 * * * *',
  run: async ({ ai }) => ai.runner.failAbandoned(),
})

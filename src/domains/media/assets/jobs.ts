import { job, schedule } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'

export const examineAsset = job({
  name: 'assets.examine',
  summary: 'Probe a new file and make its thumbnails',
  queue: 'media',
  data: Type.Object({ fileId: Id }),
  attempts: 5,
  backoff: { firstMs: 2_000, maxMs: 60_000 },
  // Media work has its own, shorter limits, which are settings. This limit covers everything else, such as downloads.
  timeoutMs: 2 * 3_600_000,
  run: async ({ data, workspaceId, attempt, signal, assets }) => {
    if (workspaceId === undefined) return
    await assets.examiner.examine(workspaceId, data.fileId, { signal, last: attempt.number >= attempt.of })
  },
})

export const makeRendition = job({
  name: 'assets.transcode',
  summary: 'Make a rendition of an asset',
  queue: 'transcodes',
  data: Type.Object({ renditionId: Id }),
  attempts: 3,
  backoff: { firstMs: 5_000, maxMs: 60_000 },
  // Media work has its own, shorter limit, which is a setting. This limit covers everything else, such as downloads.
  timeoutMs: 26 * 3_600_000,
  seenBy: 'media:read',
  run: async ({ data, attempt, signal, log, progress, assets }) => {
    await assets.renditionMaker.make(data.renditionId, { signal, log, progress, last: attempt.number >= attempt.of })
  },
})

export const failAbandonedWork = schedule({
  name: 'assets.renditions',
  summary: 'Mark renditions and thumbnails as failed if their job was lost or removed',
  cron: '*/5 * * * *',
  run: async ({ assets }) => {
    await assets.examiner.failAbandoned()
    await assets.renditionMaker.failAbandoned()
  },
})

export const emptyBin = schedule({
  name: 'assets.empty-bin',
  summary: 'Delete assets that have been in the bin for 30 days, and unused files',
  cron: '23 * * * *',
  run: async ({ signal, assets }) => assets.housekeeping.emptyBin(signal),
})

export const sweepStorage = schedule({
  name: 'assets.sweep',
  summary: 'Delete expired uploads, and files left in the storage by broken connections and deleted workspaces',
  cron: '41 3 * * *',
  timeoutMs: 30 * 60_000,
  run: async ({ signal, assets }) => assets.housekeeping.sweep(signal),
})

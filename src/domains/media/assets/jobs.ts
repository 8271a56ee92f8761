import { job, schedule } from '../../../core/job.ts'
import { Id, Type } from '../../../core/schema.ts'

export const examineAsset = job({
  name: 'assets.examine',
  summary: 'Probe a new file and draw its thumbnails',
  queue: 'media',
  data: Type.Object({ fileId: Id }),
  attempts: 5,
  backoff: { firstMs: 2_000, maxMs: 60_000 },
  // Media work has its own, shorter limits, which can be set: this one is for what hangs beside it.
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
  // Media work has its own, shorter limit, which can be set: this one is for what hangs beside it.
  timeoutMs: 26 * 3_600_000,
  seenBy: 'media:read',
  run: async ({ data, attempt, signal, log, progress, assets }) => {
    await assets.renditionMaker.make(data.renditionId, { signal, log, progress, last: attempt.number >= attempt.of })
  },
})

export const giveUpLost = schedule({
  name: 'assets.renditions',
  summary: 'Say of renditions and thumbnails whose job was given up that they have failed',
  cron: '*/5 * * * *',
  run: async ({ assets }) => {
    await assets.examiner.giveUp()
    await assets.renditionMaker.giveUp()
  },
})

export const emptyBin = schedule({
  name: 'assets.empty-bin',
  summary: 'Remove assets that were in the bin for 30 days, and files that nothing shows any more',
  cron: '23 * * * *',
  run: async ({ signal, assets }) => assets.housekeeping.emptyBin(signal),
})

export const sweepStorage = schedule({
  name: 'assets.sweep',
  summary: 'Remove what cut connections and deleted workspaces left in the storage, and uploads that expired',
  cron: '41 3 * * *',
  timeoutMs: 30 * 60_000,
  run: async ({ signal, assets }) => assets.housekeeping.sweep(signal),
})

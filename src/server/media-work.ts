import { statfs } from 'node:fs/promises'
import type { Registry } from 'prom-client'
import { DEFAULT_LIMITS, type MediaWorkLimits } from '../../media/work/limits.ts'
import { startMediaWork } from '../../media/work/media-work.ts'
import type { LaneStats, MediaWork } from '../../media/work/types.ts'
import type { Config } from '../config/config.ts'
import type { QueueBounds, QueueName } from '../core/job.ts'
import type { Logger } from '../core/log.ts'
import type { Probe } from '../domains/system/health/service.ts'
import { counter, gauge, type Sample } from '../metrics/metric-samples.ts'
import type { Ffmpeg } from '../setup/ffmpeg.ts'

/**
 * Media work that starts with the first file that needs it, so that a node without media files starts no processes.
 * @param tempDir folder for work in progress
 */
export function mediaWorkOf(
  config: Config,
  ffmpeg: Ffmpeg | undefined,
  tempDir: string,
  log: Logger,
  metrics: Registry,
) {
  let started: Promise<MediaWork> | undefined
  let running: MediaWork | undefined
  const start = async () => {
    running = startMediaWork({
      ffmpegPath: ffmpeg?.path,
      ffprobePath: ffmpeg?.ffprobePath,
      tempDir,
      limits: limitsOf(config),
      ...(config.MEDIA_NICENESS === undefined ? {} : { niceness: config.MEDIA_NICENESS }),
      log,
    })
    return running
  }
  measure(metrics, () => Object.entries(running?.stats() ?? {}))
  return {
    get: (): Promise<MediaWork> => (started ??= start()),
    probe: () => probe(tempDir, running),
    close: async (): Promise<void> => (await started)?.close(),
  }
}

const MEBIBYTE = 2 ** 20

/** The limits of media work. The defaults are in `media/work/limits.ts`. */
export function limitsOf(config: Config): MediaWorkLimits {
  const bytes = (megabytes: number | undefined, otherwise: number) =>
    megabytes === undefined ? otherwise : megabytes * MEBIBYTE
  return {
    ...DEFAULT_LIMITS,
    quickConcurrency: config.MEDIA_THUMBNAILS ?? DEFAULT_LIMITS.quickConcurrency,
    longConcurrency: config.MEDIA_TRANSCODES ?? DEFAULT_LIMITS.longConcurrency,
    quickSeconds: config.MEDIA_THUMBNAIL_SECONDS ?? DEFAULT_LIMITS.quickSeconds,
    longSeconds: config.MEDIA_TRANSCODE_SECONDS ?? DEFAULT_LIMITS.longSeconds,
    processBytes: bytes(config.MEDIA_PROCESS_MB, DEFAULT_LIMITS.processBytes),
    ffmpegBytes: bytes(config.MEDIA_FFMPEG_MB, DEFAULT_LIMITS.ffmpegBytes),
    outputBytes: bytes(config.MEDIA_OUTPUT_MB, DEFAULT_LIMITS.outputBytes),
  }
}

/** Overrides of `QUEUES`: as many concurrent jobs as media work allows. */
export function queueBounds(config: Config): Partial<Record<QueueName, QueueBounds>> {
  const { longConcurrency, quickConcurrency } = limitsOf(config)
  return { media: { concurrency: quickConcurrency }, transcodes: { concurrency: longConcurrency } }
}

/** The free disk space below which no files are processed. */
const MIN_ROOM = 64 * MEBIBYTE

/** @throws Error with the reason why files cannot be processed */
async function probe(tempDir: string, running: MediaWork | undefined): ReturnType<Probe> {
  const { bavail, bsize } = await statfs(tempDir)
  const freeBytes = bavail * bsize
  if (freeBytes < MIN_ROOM) throw new Error(`the work folder has only ${freeBytes} bytes of free space`)
  const lanes = Object.entries(running?.stats() ?? {})
  for (const [lane, { queueLimit, queued }] of lanes) {
    if (queued >= queueLimit) throw new Error(`the ${lane} lane is full: ${queued} files are waiting`)
  }
  const deaths = lanes.reduce((sum, [, stats]) => sum + stats.deaths, 0)
  const counts = lanes.flatMap(([lane, stats]) => [
    [`${lane}Running`, stats.running],
    [`${lane}Queued`, stats.queued],
  ])
  return { freeBytes, deaths, ...(Object.fromEntries(counts) as Record<string, number>) }
}

const OUTCOMES = ['done', 'failed', 'cancelled', 'refused'] as const

/** Metrics of both lanes; none before the first file. */
function measure(metrics: Registry, lanes: () => [lane: string, stats: LaneStats][]): void {
  const each = (read: (stats: LaneStats) => number) => () =>
    lanes().map(([lane, stats]): Sample => [{ lane }, read(stats)])
  const name = (what: string) => `crier_media_work_${what}`
  const labels = ['lane']
  gauge(
    metrics,
    name('queued'),
    'Files that wait to be processed',
    labels,
    each(({ queued }) => queued),
  )
  gauge(
    metrics,
    name('queue_limit'),
    'Limit of waiting files',
    labels,
    each(({ queueLimit }) => queueLimit),
  )
  gauge(
    metrics,
    name('running'),
    'Files being processed',
    labels,
    each(({ running }) => running),
  )
  counter(
    metrics,
    name('deaths_total'),
    'Work processes that crashed during a job',
    labels,
    each(({ deaths }) => deaths),
  )
  counter(
    metrics,
    name('seconds_total'),
    'Duration of jobs',
    labels,
    each(({ workedSeconds }) => workedSeconds),
  )
  counter(
    metrics,
    name('waited_seconds_total'),
    'Waiting time of jobs',
    labels,
    each(({ waitedSeconds }) => waitedSeconds),
  )
  counter(metrics, name('jobs_total'), 'Finished jobs by outcome', ['lane', 'outcome'], () =>
    lanes().flatMap(([lane, stats]) => OUTCOMES.map((outcome): Sample => [{ lane, outcome }, stats[outcome]])),
  )
}

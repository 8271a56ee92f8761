import { Counter, Gauge, type Registry } from 'prom-client'
import { startMediaWork } from '../media/work/media-work.ts'
import type { LaneStats, MediaWork } from '../media/work/types.ts'
import type { Config } from './config.ts'
import type { Logger } from './core/log.ts'
import { findFfmpeg } from './setup/ffmpeg.ts'

/**
 * Media work that starts with the first file that needs it: a node that never sees one starts nothing.
 * @param tempDir folder for what is under way
 */
export function mediaWorkOf(config: Config, tempDir: string, log: Logger, metrics: Registry) {
  let started: Promise<MediaWork> | undefined
  let running: MediaWork | undefined
  const start = async () => {
    const { ffmpeg } = await findFfmpeg({ FFMPEG_PATH: config.FFMPEG_PATH, PATH: config.PATH })
    running = startMediaWork({ ffmpegPath: ffmpeg?.path, ffprobePath: ffmpeg?.ffprobePath, tempDir, log })
    return running
  }
  measure(metrics, () => Object.entries(running?.stats() ?? {}))
  return {
    get: (): Promise<MediaWork> => (started ??= start()),
    close: async (): Promise<void> => (await started)?.close(),
  }
}

const OUTCOMES = ['done', 'failed', 'cancelled', 'refused'] as const

/** Figures of both lanes, read when they are scraped; none before the first file. */
function measure(metrics: Registry, lanes: () => [lane: string, stats: LaneStats][]): void {
  const gauge = (name: string, help: string, read: (stats: LaneStats) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['lane'],
      registers: [metrics],
      collect() {
        for (const [lane, stats] of lanes()) this.set({ lane }, read(stats))
      },
    })
  gauge('crier_media_work_queued', 'Files that wait to be worked on', ({ queued }) => queued)
  gauge('crier_media_work_running', 'Files that are worked on', ({ running }) => running)
  const counter = (name: string, help: string, read: (stats: LaneStats) => number) =>
    new Counter({
      name,
      help,
      labelNames: ['lane'],
      registers: [metrics],
      collect() {
        this.reset()
        for (const [lane, stats] of lanes()) this.inc({ lane }, read(stats))
      },
    })
  counter('crier_media_work_deaths_total', 'Work processes that died under a job', ({ deaths }) => deaths)
  counter('crier_media_work_seconds_total', 'Time that jobs took', ({ workedSeconds }) => workedSeconds)
  counter('crier_media_work_waited_seconds_total', 'Time that jobs waited', ({ waitedSeconds }) => waitedSeconds)
  const ended = new Counter({
    name: 'crier_media_work_jobs_total',
    help: 'Jobs that ended, by outcome',
    labelNames: ['lane', 'outcome'],
    registers: [],
    collect() {
      this.reset()
      for (const [lane, stats] of lanes()) for (const outcome of OUTCOMES) this.inc({ lane, outcome }, stats[outcome])
    },
  })
  metrics.registerMetric(ended)
}

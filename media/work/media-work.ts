import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Lane } from './lane.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import type { Task, Tasks, WorkSettings } from './process/protocol.ts'
import { HostileFiles } from './hostile-files.ts'
import { checkSizes } from './thumbnails/sizes.ts'
import { checkSpec } from './transcode/spec.ts'
import type { MediaWork, MediaWorkOptions, ProgressOptions } from './types.ts'

/** The lowest priority: one part in seventy of a busy processor, and other processes preempt it at once. */
const NICENESS = 19

/** Creates media work. Its processes start with the first job. */
export function startMediaWork(options: MediaWorkOptions): MediaWork {
  const { ffmpegPath, ffprobePath, tempDir, niceness = NICENESS, log } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const root = mkdtempSync(join(resolve(tempDir), 'media-work-'))
  const hostileFiles = new HostileFiles()
  const lane = (name: string, concurrency: number, queueLimit: number, seconds: number): Lane => {
    const settings: WorkSettings = { ffmpegPath, ffprobePath, limits, niceness, scratchRoot: join(root, name) }
    return new Lane({ name, concurrency, queueLimit, seconds, settings, hostileFiles, log })
  }
  const quick = lane('quick', limits.quickConcurrency, limits.quickQueue, limits.quickSeconds)
  const long = lane('long', limits.longConcurrency, limits.longQueue, limits.longSeconds)

  async function run<Kind extends keyof Tasks>(
    task: Task & { kind: Kind },
    options: ProgressOptions = {},
  ): Promise<Tasks[Kind]['result']> {
    return (await (isLong(task) ? long : quick).run(task, options)) as Tasks[Kind]['result']
  }

  return {
    probe: (path, options) => run({ kind: 'probe', path: resolve(path) }, options),
    thumbnails: async (path, outputDir, { sizes, format = 'webp', probed, ...options }) => {
      checkSizes(sizes)
      const input = { path: resolve(path), outputDir: resolve(outputDir), options: { sizes, format, probed } }
      return run({ kind: 'thumbnails', ...input }, options)
    },
    transcode: async (path, output, spec, { probed, ...options } = {}) => {
      checkSpec(spec)
      return run({ kind: 'transcode', path: resolve(path), output: resolve(output), spec, probed }, options)
    },
    preview: (path, outputDir, { probed, ...options } = {}) =>
      run({ kind: 'preview', path: resolve(path), outputDir: resolve(outputDir), probed }, options),
    speech: (path, outputDir, { maxSeconds, probed, ...options }) =>
      run({ kind: 'speech', path: resolve(path), outputDir: resolve(outputDir), maxSeconds, probed }, options),
    subtitles: (path, { language, ...options } = {}) =>
      run({ kind: 'subtitles', path: resolve(path), language }, options),
    render: (path, outputDir, order, options) =>
      run({ kind: 'render', path: resolve(path), outputDir: resolve(outputDir), order }, options),
    stats: () => ({ quick: quick.stats(), long: long.stats() }),
    close: async () => {
      await Promise.all([quick.close(), long.close()])
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** Transcodes and renderings to images are quick jobs. */
function isLong(task: Task): boolean {
  if (task.kind === 'render') return task.order.format === 'mp4'
  return (
    ['preview', 'speech', 'subtitles'].includes(task.kind) || (task.kind === 'transcode' && task.spec.kind !== 'image')
  )
}

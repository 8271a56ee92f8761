import { fork } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import type { MediaWork } from '../../../media/work/types.ts'
import { cpuSeconds, median } from '../support/process.ts'

export interface BareSharpJob {
  readonly files: readonly string[]
  readonly folder: string
  readonly edges: readonly number[]
  readonly inFlight: number
  readonly threads: number
}

export interface BareSharpResult {
  readonly seconds: number
  readonly cpuSeconds: number
}

const BASELINE = fileURLToPath(new URL('../baselines/bare-sharp.ts', import.meta.url))
const EDGES = [1280, 320]
/** The settings tried for bare sharp; the best one counts. */
const SETTINGS = [
  { inFlight: 2, threads: 1 },
  { inFlight: 4, threads: 1 },
  { inFlight: 2, threads: 2 },
]

/** An image with the size and decoding cost of a photograph: 12 megapixels, soft shapes and grain. */
export async function makePhotograph(file: string): Promise<void> {
  const grain = { type: 'gaussian', mean: 128, sigma: 24 } as const
  const shapes = await sharp({
    create: { width: 200, height: 150, channels: 3, background: '#888', noise: { ...grain, sigma: 60 } },
  })
    .resize(4000, 3000, { kernel: 'cubic' })
    .png()
    .toBuffer()
  await sharp({ create: { width: 4000, height: 3000, channels: 3, background: '#888', noise: grain } })
    .composite([{ input: shapes, blend: 'soft-light' }])
    .jpeg({ quality: 88 })
    .toFile(file)
}

export interface ThumbnailFigures {
  /** Images per second, as medians of the rounds. */
  readonly ours: number
  readonly bare: number
  readonly bareSetting: string
  /** Medians of the rounds' ratios. */
  readonly rateRatio: number
  readonly cpuRatio: number
}

/** Alternates between Crier and bare sharp at each of its settings. */
export async function compareThumbnails(
  work: MediaWork,
  { photograph, folder, count, rounds }: { photograph: string; folder: string; count: number; rounds: number },
): Promise<ThumbnailFigures> {
  const files = Array.from({ length: count }, () => photograph)
  const folders = files.map((_, index) => join(folder, String(index)))
  for (const one of folders) mkdirSync(one, { recursive: true })
  const baseline = fork(BASELINE, [], { env: { ...process.env, UV_THREADPOOL_SIZE: '6' } })
  const bare = (setting: (typeof SETTINGS)[number]) =>
    new Promise<BareSharpResult>((resolve) => {
      baseline.once('message', (result) => resolve(result as BareSharpResult))
      baseline.send({ files, folder, edges: EDGES, ...setting } satisfies BareSharpJob)
    })
  const ours = async (): Promise<BareSharpResult> => {
    const sizes = EDGES.map((edge) => ({ name: String(edge), edge }))
    const [pid = 0] = work.stats().quick.pids
    const [cpu, started] = [pid === 0 ? 0 : cpuSeconds(pid), performance.now()]
    await Promise.all(files.map((file, index) => work.thumbnails(file, folders[index] ?? folder, { sizes })))
    return { seconds: (performance.now() - started) / 1000, cpuSeconds: pid === 0 ? 0 : cpuSeconds(pid) - cpu }
  }
  try {
    // Both are warmed up.
    await ours()
    await bare(SETTINGS[0] ?? { inFlight: 2, threads: 1 })
    const results: { ours: BareSharpResult; bare: BareSharpResult[] }[] = []
    for (let round = 0; round < rounds; round += 1) {
      const own = await ours()
      const theirs: BareSharpResult[] = []
      for (const setting of SETTINGS) theirs.push(await bare(setting))
      results.push({ ours: own, bare: theirs })
    }
    const speeds = SETTINGS.map((_, at) =>
      median(results.map((result) => count / (result.bare[at]?.seconds ?? Number.NaN))),
    )
    const best = speeds.indexOf(Math.max(...speeds))
    const { inFlight, threads } = SETTINGS[best] ?? { inFlight: 0, threads: 0 }
    const ratio = (key: keyof BareSharpResult) =>
      median(results.map((result) => (result.bare[best]?.[key] ?? Number.NaN) / result.ours[key]))
    return {
      ours: median(results.map((result) => count / result.ours.seconds)),
      bare: speeds[best] ?? Number.NaN,
      bareSetting: `${inFlight} in flight, ${threads} thread${threads === 1 ? '' : 's'} each`,
      rateRatio: ratio('seconds'),
      cpuRatio: ratio('cpuSeconds'),
    }
  } finally {
    baseline.disconnect()
  }
}

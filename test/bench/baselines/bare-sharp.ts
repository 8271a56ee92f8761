/** Makes the same thumbnails with sharp alone, in a separate process that returns the time for each message. */
import { join } from 'node:path'
import sharp from 'sharp'
import type { BareSharpJob, BareSharpResult } from '../media/thumbnails.ts'

process.on('message', (job: BareSharpJob) => void work(job).then((result) => process.send?.(result)))

async function work({ files, folder, edges, inFlight, threads }: BareSharpJob): Promise<BareSharpResult> {
  sharp.concurrency(threads)
  sharp.cache(false)
  const [cpu, started] = [process.cpuUsage(), performance.now()]
  const waiting = files.entries()
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      for (const [index, file] of waiting) await thumbnails(file, join(folder, String(index)), edges)
    }),
  )
  const { user, system } = process.cpuUsage(cpu)
  return { seconds: (performance.now() - started) / 1000, cpuSeconds: (user + system) / 1e6 }
}

/** Decodes once for all sizes, like Crier. */
async function thumbnails(file: string, folder: string, edges: readonly number[]): Promise<void> {
  const { data, info } = await sharp(file, { sequentialRead: true })
    .autoOrient()
    .resize(Math.max(...edges), Math.max(...edges), { fit: 'inside' })
    .raw()
    .toBuffer({ resolveWithObject: true })
  const raw = { width: info.width, height: info.height, channels: info.channels }
  const write = (edge: number) =>
    sharp(data, { raw })
      .resize(edge, edge, { fit: 'inside' })
      .webp({ quality: 78, effort: 2 })
      .toFile(join(folder, `${edge}.webp`))
  await Promise.all(edges.map(write))
}

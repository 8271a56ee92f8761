import type { WorkContext } from '../process/context.ts'
import { openSource, type SourceFile } from '../probe/source-file.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { ProbeResult, ThumbnailOptions, ThumbnailResult } from '../types.ts'
import type { ImageSource } from './image.ts'
import { render } from './render.ts'
import { openStill } from './still.ts'
import { openFrame } from './video-frame.ts'
import { openWaveform } from './waveform.ts'

/** @throws MediaWorkError */
export async function thumbnails(
  path: string,
  outputDir: string,
  options: Pick<ThumbnailOptions, 'sizes' | 'format' | 'probed'>,
  context: WorkContext,
): Promise<ThumbnailResult> {
  const edge = Math.max(...options.sizes.map((size) => size.edge))
  const { kind, image, peaks = null } = await open(await openSource(path, options.probed), edge, context)
  context.signal.throwIfAborted()
  return { kind, ...(await render(image, outputDir, options, context.limits)), peaks }
}

async function open(
  source: SourceFile,
  edge: number,
  context: WorkContext,
): Promise<{ kind: ProbeResult['kind']; image: ImageSource; peaks?: readonly number[] }> {
  const { path, kind } = source
  if (kind.decoder !== 'ffmpeg') return openStill(path, kind, edge, context)
  const media = await probeWorkable(source, context)
  if (media.video === null) return { kind: 'audio', ...(await openWaveform(path, media, edge, context)) }
  return { kind: 'video', image: await openFrame(path, media, edge, context) }
}

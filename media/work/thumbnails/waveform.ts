import { join } from 'node:path'
import sharp from 'sharp'
import { element, xmlOf } from '../../../src/tools/xml.ts'
import type { WorkContext } from '../process/context.ts'
import type { TimedMedia } from '../probe/timed.ts'
import type { ImageSource } from './image.ts'

export const PARTS = 200
const SAMPLE_RATE = 8000
/** Maximum size of the temporary file with samples, for any duration. */
const MAX_SAMPLES = 256 * 2 ** 20
const WIDTH = PARTS * 8
const HEIGHT = 480
const BACKGROUND = '#f1f5f9'
const FOREGROUND = '#475569'

/** The peak level of each part of the audio, and a waveform image of them. @throws MediaWorkError */
export async function openWaveform(
  path: string,
  media: TimedMedia,
  edge: number,
  context: WorkContext,
): Promise<{ image: ImageSource; peaks: number[] }> {
  const samples = join(await context.scratch(), 'samples')
  const rate = Math.min(SAMPLE_RATE, Math.floor(MAX_SAMPLES / Math.max(1, media.seconds ?? 1)))
  await context.ffmpeg.run({
    input: path,
    inputOptions: ['-vn', '-sn', '-dn'],
    outputOptions: ['-map', '0:a:0', '-ac', '1', '-ar', String(rate), '-c:a', 'pcm_u8', '-f', 'u8'],
    output: samples,
    signal: context.signal,
    outputBytes: MAX_SAMPLES * 2,
  })
  const peaks = await context.threads.peaks({ path: samples, parts: PARTS }, context.signal)
  return { image: draw(peaks, edge), peaks }
}

function draw(peaks: readonly number[], edge: number): ImageSource {
  const step = WIDTH / peaks.length
  const bars = peaks.map((peak, index) => {
    const height = Math.max(4, peak * (HEIGHT - 40))
    const x = String(index * step + 1)
    const y = String((HEIGHT - height) / 2)
    return element('rect', { x, y, width: String(step - 2), height: String(height), rx: String(step / 2 - 1) })
  })
  const svg = xmlOf(
    element(
      'svg',
      {
        xmlns: 'http://www.w3.org/2000/svg',
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        width: String(WIDTH),
        height: String(HEIGHT),
      },
      element('rect', { width: '100%', height: '100%', fill: BACKGROUND }),
      element('g', { fill: FOREGROUND }, ...bars),
    ),
  )
  const scale = Math.max(1, edge / WIDTH)
  const options = { density: 72 * scale }
  return {
    width: Math.round(WIDTH * scale),
    height: Math.round(HEIGHT * scale),
    open: () => sharp(Buffer.from(svg), options),
  }
}

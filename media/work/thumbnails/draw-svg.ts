/**
 * The program that reads and draws one drawing, in a process of its own: `node draw-svg.ts <path> <edge> <pixels>`.
 * `svg.ts` starts it and says what it may take. It answers with a line of JSON (`Drawn`), then the pixels.
 */
import { readFileSync } from 'node:fs'
import sharp from 'sharp'

/** What the program says: how large the drawing is and how large it was drawn, or what is wrong with it. */
export type Drawn =
  | {
      readonly width: number
      readonly height: number
      readonly drawn?: { readonly width: number; readonly height: number }
    }
  | { readonly error: 'too_large' | 'damaged'; readonly message: string }

/** Of a drawing that is drawn larger than it says, so that thumbnails are crisp. */
const MAX_DENSITY = 2400
const DENSITY = 72
/** sharp takes no less. */
const MIN_DENSITY = 1
/** librsvg draws up to 32,767. */
const MOST_EDGE = 16_384
/** A long drawing has at most so many times the pixels of a square one. */
const MOST_SQUARES = 2

async function main([path = '', edge = '0', mostPixels = '0']: readonly string[]): Promise<void> {
  sharp.concurrency(1)
  sharp.cache(false)
  const buffer = readFileSync(path)
  const open = (scale: number) =>
    sharp(buffer, { failOn: 'truncated', limitInputPixels: Number(mostPixels), density: DENSITY * scale })
  const { height, width } = await sharp(buffer, { limitInputPixels: false }).metadata()
  if (width * height > Number(mostPixels)) {
    answer({ error: 'too_large', message: `It has ${width} × ${height} pixels, too many.` })
    return
  }
  if (edge === '0') {
    answer({ width, height })
    return
  }
  const { data, info } = await open(scaleFor(Number(edge), width, height))
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  answer({ width, height, drawn: { width: info.width, height: info.height } }, data)
}

/** A drawing is drawn as large as it is shown, whatever size it gives: the time it takes grows with its pixels. */
function scaleFor(edge: number, width: number, height: number): number {
  const larger = edge / Math.max(width, height)
  const smaller = edge / Math.min(width, height)
  const most = Math.sqrt((MOST_SQUARES * edge ** 2) / (width * height))
  const longest = MOST_EDGE / Math.max(width, height)
  const scale = Math.min(most, longest, Math.max(larger, Math.min(1, smaller)))
  return Math.max(MIN_DENSITY / DENSITY, Math.min(MAX_DENSITY / DENSITY, scale))
}

function answer(line: Drawn, pixels?: Buffer): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
  if (pixels !== undefined) process.stdout.write(pixels)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  answer({ error: 'damaged', message: (error as Error).message })
}

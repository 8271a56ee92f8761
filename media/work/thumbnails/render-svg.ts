/**
 * A program that measures and renders one SVG: `node render-svg.ts <path> <edge> <pixels>`. `svg.ts` starts it with limits.
 * It writes a line of JSON (`RenderedSvg`), then the pixels.
 */
import { readFileSync } from 'node:fs'
import sharp from 'sharp'

/** The declared and the rendered dimensions of the SVG, or an error. */
export type RenderedSvg =
  | {
      readonly width: number
      readonly height: number
      readonly rendered?: { readonly width: number; readonly height: number }
    }
  | { readonly error: 'too_large' | 'damaged'; readonly message: string }

/** Maximum density. An SVG is enlarged beyond its declared size, so that thumbnails are sharp. */
const MAX_DENSITY = 2400
const DENSITY = 72
/** The minimum that sharp accepts. */
const MIN_DENSITY = 1
/** librsvg renders edges of up to 32,767 pixels. */
const MAX_EDGE = 16_384
/** Maximum pixels of the rendered image, as a multiple of a square with the requested edge. */
const MAX_SQUARES = 2

async function main([path = '', edge = '0', maxPixels = '0']: readonly string[]): Promise<void> {
  sharp.concurrency(1)
  sharp.cache(false)
  const buffer = readFileSync(path)
  const open = (scale: number) =>
    sharp(buffer, { failOn: 'truncated', limitInputPixels: Number(maxPixels), density: DENSITY * scale })
  const { height, width } = await sharp(buffer, { limitInputPixels: false }).metadata()
  if (width * height > Number(maxPixels)) {
    write({ error: 'too_large', message: `The image has ${width} × ${height} pixels, which is too many.` })
    return
  }
  if (edge === '0') {
    write({ width, height })
    return
  }
  const { data, info } = await open(scaleFor(Number(edge), width, height))
    .toColourspace('srgb')
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  write({ width, height, rendered: { width: info.width, height: info.height } }, data)
}

/** Renders at the size that is shown, not at the declared size, because the time grows with the pixels. */
function scaleFor(edge: number, width: number, height: number): number {
  const larger = edge / Math.max(width, height)
  const smaller = edge / Math.min(width, height)
  const byArea = Math.sqrt((MAX_SQUARES * edge ** 2) / (width * height))
  const byEdge = MAX_EDGE / Math.max(width, height)
  const scale = Math.min(byArea, byEdge, Math.max(larger, Math.min(1, smaller)))
  return Math.max(MIN_DENSITY / DENSITY, Math.min(MAX_DENSITY / DENSITY, scale))
}

function write(line: RenderedSvg, pixels?: Buffer): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
  if (pixels !== undefined) process.stdout.write(pixels)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  write({ error: 'damaged', message: (error as Error).message })
}

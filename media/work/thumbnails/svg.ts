import { spawn, type ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import { residentBytes } from '../process/memory.ts'
import type { FileKind } from '../probe/file-kind.ts'
import type { Drawn } from './draw-svg.ts'
import type { Picture } from './picture.ts'

const PROGRAM = fileURLToPath(new URL('draw-svg.ts', import.meta.url))
const MAX_BYTES = 4 * 2 ** 20
/** A drawing that takes too long is drawn once more, with so many times shorter edges. */
const SMALLER = 4
const WATCH_MS = 200

type Bounds = Pick<WorkContext, 'limits' | 'signal'>
type Answer = Extract<Drawn, { readonly width: number }>

/**
 * How large a drawing says that it is. Like `openSvg` it reads the drawing in a process of its own, whose time on a
 * processor the kernel bounds: what a drawing costs cannot be told by looking at it, and once begun drawing cannot be
 * stopped. Nothing in it is run, and as the drawing comes from memory it has no place that a reference to another file
 * or host could start from.
 * @throws MediaWorkError `too_large`, `unsupported`, `damaged`, `timed_out`, `memory_limit`
 */
export async function measureSvg(
  path: string,
  kind: FileKind,
  bounds: Bounds,
): Promise<{ width: number; height: number }> {
  await requireReadable(path, kind)
  const { height, width } = (await draw(path, 0, bounds)).answer
  return { width, height }
}

/**
 * Draws a drawing, smaller than asked for where that takes too long.
 * @param edge what the longer edge is to have at least, if the drawing may be drawn so large. A drawing that says that it
 *   is larger is drawn so small that its shorter edge is as long, as far as the pixels allow.
 * @throws MediaWorkError as `measureSvg`
 */
export async function openSvg(path: string, kind: FileKind, edge: number, bounds: Bounds): Promise<Picture> {
  await requireReadable(path, kind)
  const { answer, pixels } = await draw(path, edge, bounds).catch((error: unknown) => {
    if (!(error instanceof MediaWorkError) || error.code !== 'timed_out') throw error
    bounds.signal.throwIfAborted()
    return draw(path, Math.ceil(edge / SMALLER), bounds)
  })
  const { height, width } = answer.drawn ?? answer
  return { width, height, open: () => sharp(pixels, { raw: { width, height, channels: 4 } }) }
}

async function requireReadable(path: string, { bytes }: FileKind): Promise<void> {
  if (bytes > MAX_BYTES) throw new MediaWorkError('too_large', 'The drawing has too many bytes.')
  const buffer = await readFile(path)
  const text = buffer.toString(buffer[1] === 0 ? 'utf16le' : 'utf8')
  if (/<!ENTITY/i.test(text)) throw new MediaWorkError('unsupported', 'Drawings that define entities are not drawn.')
  if (/<(?:\w+:)?include\b/i.test(text)) {
    throw new MediaWorkError('unsupported', 'Drawings that include other files are not drawn.')
  }
}

async function draw(
  path: string,
  edge: number,
  { limits, signal }: Bounds,
): Promise<{ answer: Answer; pixels: Buffer }> {
  signal.throwIfAborted()
  const child = start([path, String(edge), String(limits.imagePixels)], limits.drawingSeconds)
  let isTooLarge = false
  const watch = setInterval(() => {
    if ((residentBytes(child.pid ?? 0) ?? 0) <= limits.processBytes) return
    isTooLarge = true
    child.kill('SIGKILL')
  }, WATCH_MS)
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  try {
    const { output, signal: ended } = await outcome(child)
    signal.throwIfAborted()
    if (isTooLarge) throw new MediaWorkError('memory_limit', 'It takes more memory than is allowed.')
    // The kernel ends it with one of these when its time is over.
    if (ended === 'SIGKILL' || ended === 'SIGXCPU') {
      throw new MediaWorkError('timed_out', 'The drawing takes too long to draw.')
    }
    const end = output.indexOf(0x0a)
    if (ended !== null || end === -1) throw new MediaWorkError('damaged', 'The drawing cannot be read.')
    const answer = JSON.parse(output.toString('utf8', 0, end)) as Drawn
    if ('error' in answer) {
      const damaged = answer.error === 'damaged'
      const cause = damaged ? { cause: new Error(answer.message) } : {}
      throw new MediaWorkError(answer.error, damaged ? 'The drawing cannot be read.' : answer.message, cause)
    }
    return { answer, pixels: output.subarray(end + 1) }
  } finally {
    clearInterval(watch)
    signal.removeEventListener('abort', kill)
  }
}

/** In the process group of the work process: whatever ends that one ends this one too. */
function start(args: readonly string[], seconds: number): ChildProcess {
  const { PATH } = process.env
  const env = { ...(PATH === undefined ? {} : { PATH }), UV_THREADPOOL_SIZE: '1' }
  const options = { env, stdio: ['ignore', 'pipe', 'ignore'] } satisfies Parameters<typeof spawn>[2]
  if (process.platform === 'win32') return spawn(process.execPath, [PROGRAM, ...args], options)
  const bounded = `ulimit -c 0; ulimit -f 0; ulimit -t ${seconds}; exec "$0" "$@"`
  return spawn('/bin/sh', ['-c', bounded, process.execPath, PROGRAM, ...args], options)
}

function outcome(child: ChildProcess): Promise<{ output: Buffer; signal: NodeJS.Signals | null }> {
  const chunks: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new MediaWorkError('unavailable', 'Drawings cannot be drawn here.', { cause })),
    )
    child.once('close', (_code, signal) => resolve({ output: Buffer.concat(chunks), signal }))
  })
}

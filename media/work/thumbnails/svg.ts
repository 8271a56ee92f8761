import { spawn, type ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import { residentBytes } from '../process/memory.ts'
import type { FileKind } from '../probe/file-kind.ts'
import type { RenderedSvg } from './render-svg.ts'
import type { ImageSource } from './image.ts'

const PROGRAM = fileURLToPath(new URL('render-svg.ts', import.meta.url))
const MAX_BYTES = 4 * 2 ** 20
/** An SVG that takes too long is rendered once more with its edges divided by this. */
const REDUCTION = 4
const MEMORY_CHECK_MS = 200

type Bounds = Pick<WorkContext, 'limits' | 'signal'>
type Result = Extract<RenderedSvg, { readonly width: number }>

/**
 * The declared dimensions of an SVG. Like `openSvg`, it reads the file in a separate process with a CPU time limit of the
 * kernel, because the cost of an SVG cannot be known in advance and rendering cannot be interrupted. Scripts are not run.
 * The SVG is rendered from memory without a base URL, so references to other files or hosts do not resolve.
 * @throws MediaWorkError `too_large`, `unsupported`, `damaged`, `timed_out`, `memory_limit`
 */
export async function measureSvg(
  path: string,
  kind: FileKind,
  bounds: Bounds,
): Promise<{ width: number; height: number }> {
  await requireReadable(path, kind)
  const { height, width } = (await render(path, 0, bounds)).result
  return { width, height }
}

/**
 * Renders an SVG, smaller than requested if that takes too long.
 * @param edge minimum length of the longer edge, if the limits allow it. An SVG that declares larger dimensions is scaled
 *   down until its shorter edge has this length, or further if the limit on pixels requires it.
 * @throws MediaWorkError as `measureSvg`
 */
export async function openSvg(path: string, kind: FileKind, edge: number, bounds: Bounds): Promise<ImageSource> {
  await requireReadable(path, kind)
  const { result, pixels } = await render(path, edge, bounds).catch((error: unknown) => {
    if (!(error instanceof MediaWorkError) || error.code !== 'timed_out') throw error
    bounds.signal.throwIfAborted()
    return render(path, Math.ceil(edge / REDUCTION), bounds)
  })
  const { height, width } = result.rendered ?? result
  return { width, height, open: () => sharp(pixels, { raw: { width, height, channels: 4 } }) }
}

async function requireReadable(path: string, { bytes }: FileKind): Promise<void> {
  if (bytes > MAX_BYTES) throw new MediaWorkError('too_large', 'The SVG is too large.')
  const buffer = await readFile(path)
  const text = buffer.toString(buffer[1] === 0 ? 'utf16le' : 'utf8')
  if (/<!ENTITY/i.test(text))
    throw new MediaWorkError('unsupported', 'SVG files that define entities are not supported.')
  if (/<(?:\w+:)?include\b/i.test(text)) {
    throw new MediaWorkError('unsupported', 'SVG files that include other files are not supported.')
  }
}

async function render(
  path: string,
  edge: number,
  { limits, signal }: Bounds,
): Promise<{ result: Result; pixels: Buffer }> {
  signal.throwIfAborted()
  const child = start([path, String(edge), String(limits.imagePixels)], limits.svgSeconds)
  let isOverMemory = false
  const memoryCheck = setInterval(() => {
    if ((residentBytes(child.pid ?? 0) ?? 0) <= limits.processBytes) return
    isOverMemory = true
    child.kill('SIGKILL')
  }, MEMORY_CHECK_MS)
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  try {
    const { output, signal: ended } = await outcome(child)
    signal.throwIfAborted()
    if (isOverMemory) throw new MediaWorkError('memory_limit', 'The file needs more memory than the limit.')
    // The kernel sends one of these signals at the CPU time limit.
    if (ended === 'SIGKILL' || ended === 'SIGXCPU') {
      throw new MediaWorkError('timed_out', 'The SVG takes too long to render.')
    }
    const end = output.indexOf(0x0a)
    if (ended !== null || end === -1) throw new MediaWorkError('damaged', 'The SVG cannot be read.')
    const result = JSON.parse(output.toString('utf8', 0, end)) as RenderedSvg
    if ('error' in result) {
      const damaged = result.error === 'damaged'
      const cause = damaged ? { cause: new Error(result.message) } : {}
      throw new MediaWorkError(result.error, damaged ? 'The SVG cannot be read.' : result.message, cause)
    }
    return { result, pixels: output.subarray(end + 1) }
  } finally {
    clearInterval(memoryCheck)
    signal.removeEventListener('abort', kill)
  }
}

/** Starts the program in the process group of the work process, so that it is killed with it. */
function start(args: readonly string[], seconds: number): ChildProcess {
  const { PATH } = process.env
  const env = { ...(PATH === undefined ? {} : { PATH }), UV_THREADPOOL_SIZE: '1' }
  const options = { env, stdio: ['ignore', 'pipe', 'ignore'] } satisfies Parameters<typeof spawn>[2]
  if (process.platform === 'win32') return spawn(process.execPath, [PROGRAM, ...args], options)
  const limited = `ulimit -c 0; ulimit -f 0; ulimit -t ${seconds}; exec "$0" "$@"`
  return spawn('/bin/sh', ['-c', limited, process.execPath, PROGRAM, ...args], options)
}

function outcome(child: ChildProcess): Promise<{ output: Buffer; signal: NodeJS.Signals | null }> {
  const chunks: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new MediaWorkError('unavailable', 'This server cannot render SVG files.', { cause })),
    )
    child.once('close', (_code, signal) => resolve({ output: Buffer.concat(chunks), signal }))
  })
}

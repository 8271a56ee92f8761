import { createWriteStream, openAsBlob } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ConnectionError, type FileReply } from '../sdk/client.ts'
import { UsageError } from './arguments.ts'

/**
 * A local file that is read while it is sent.
 * @throws UsageError when it cannot be read
 */
export async function fileToSend(path: string, type: string | undefined): Promise<File> {
  try {
    if ((await stat(path)).isDirectory()) throw new Error('it is a folder')
    const blob = await openAsBlob(path)
    return new File([blob], basename(path), { type: type ?? '' })
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`, { cause: error })
  }
}

/**
 * Writes a received file completely or not at all. Without a path, it goes to standard output.
 * @throws UsageError when it cannot be written
 */
export async function keep({ body }: FileReply, path: string | undefined): Promise<void> {
  const content = Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0])
  if (path === undefined) {
    await pipeline(content, process.stdout, { end: false }).catch(lost)
    return
  }
  const part = `${path}.part`
  try {
    await pipeline(content, createWriteStream(part))
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    if ((error as NodeJS.ErrnoException).syscall === undefined) lost(error)
    throw new UsageError(`cannot write ${path}: ${(error as Error).message}`, { cause: error })
  }
}

function lost(error: unknown): never {
  // The reader of a pipe may stop early: `crier … | head`.
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') process.exit(0)
  throw new ConnectionError('the connection was lost before the file was complete', { cause: error })
}

interface Progress {
  readonly update: (done: number, total: number | undefined) => void
  readonly end: () => void
}

/**
 * Shows the progress of a file on standard error: in place on a terminal, otherwise one line per tenth, as JSON with
 * `--json`.
 */
export function progressOn(asJson: boolean, terminal = process.stderr.isTTY): Progress {
  let shown = -1
  const update = (done: number, total: number | undefined) => {
    const percent = total === undefined || total === 0 ? undefined : Math.floor((done / total) * 100)
    const step = percent === undefined ? Math.floor(done / 16_000_000) : Math.floor(percent / (terminal ? 1 : 10))
    if (step === shown) return
    shown = step
    const words = percent === undefined ? megabytes(done) : `${percent} % of ${megabytes(total ?? 0)}`
    if (asJson) process.stderr.write(`${JSON.stringify({ progress: { done, total: total ?? null } })}\n`)
    else process.stderr.write(terminal ? `\r${words.padEnd(24)}` : `${words}\n`)
  }
  const end = () => {
    if (terminal && !asJson && shown >= 0) process.stderr.write('\n')
  }
  return { update, end }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

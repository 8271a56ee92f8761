/**
 * A work process. Its host is at the other end of the IPC channel: when that is gone, this one ends, with every ffmpeg
 * that it started. Nothing here decides what runs when; it does what it is told, and tells when nothing is left of it.
 */
import { mkdir, rm } from 'node:fs/promises'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import { Threads } from '../threads/threads.ts'
import { removeUnfinished } from '../outputs.ts'
import type { WorkContext } from './context.ts'
import { runTask } from './run-task.ts'
import type { HostMessage, Task, WorkMessage, WorkSettings } from './protocol.ts'

interface Services {
  readonly settings: WorkSettings
  readonly ffmpeg: Ffmpeg
  readonly threads: Threads
}

let services: Services | null = null
const running = new Map<number, AbortController>()

function send(message: WorkMessage): void {
  if (process.send !== undefined && process.connected) process.send(message)
}

function start(settings: WorkSettings): void {
  yieldToOthers(settings.niceness)
  // Several files at a time, each with one thread: more files a second than one file with many, and less memory.
  sharp.concurrency(1)
  // No file is opened twice in a row.
  sharp.cache(false)
  services = { settings, ffmpeg: new Ffmpeg(settings), threads: new Threads(settings.limits) }
  send({ type: 'ready' })
}

async function run(id: number, task: Task, scratch: string): Promise<void> {
  if (services === null) return
  const { settings, ffmpeg, threads } = services
  const controller = new AbortController()
  running.set(id, controller)
  let scratchMade: Promise<string> | undefined
  const context: WorkContext = {
    limits: settings.limits,
    signal: controller.signal,
    ffmpeg,
    threads,
    scratch: () => (scratchMade ??= mkdir(scratch, { recursive: true }).then(() => scratch)),
    progress: (progress) => send({ type: 'progress', id, progress }),
  }
  let answer: WorkMessage
  try {
    answer = { type: 'done', id, result: await runTask(task, context) }
  } catch (error) {
    const failure = toMediaWorkError(controller.signal.aborted ? controller.signal.reason : error)
    answer = { type: 'failed', id, code: failure.code, message: failure.message }
    const level = failure.code === 'failed' ? 'warn' : 'debug'
    const fields = { kind: task.kind, code: failure.code, error: describe(failure.code === 'failed' ? error : failure) }
    send({ type: 'log', level, fields, message: 'media work failed' })
  }
  running.delete(id)
  if (answer.type === 'failed') await removeUnfinished(task)
  if (scratchMade !== undefined) await rm(scratch, { recursive: true, force: true })
  send(answer)
}

function toMediaWorkError(error: unknown): MediaWorkError {
  if (error instanceof MediaWorkError) return error
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (code === 'ENOENT') return new MediaWorkError('missing', 'There is no such file or folder.')
  if (code === 'ENOSPC' || code === 'EDQUOT') return new MediaWorkError('unavailable', 'The disk is full.')
  return new MediaWorkError('failed', 'The file could not be worked on.')
}

function describe(error: unknown): object {
  if (!(error instanceof Error)) return { error }
  const { name, message, stack, cause } = error
  return {
    name,
    message,
    stack,
    ...(cause === undefined ? {} : { cause: cause instanceof Error ? cause.message : cause }),
  }
}

function onMessage(message: HostMessage): void {
  switch (message.type) {
    case 'start':
      start(message.settings)
      return
    case 'run':
      void run(message.id, message.task, message.scratch)
      return
    case 'ping':
      send({ type: 'pong' })
      return
    case 'cancel':
      running.get(message.id)?.abort(new MediaWorkError(message.code, message.message))
  }
}

/** Below everything that answers people: this process, its threads so far, and what it starts. */
function yieldToOthers(niceness: number): void {
  setPriority(niceness)
  if (process.platform !== 'linux') return
  // On Linux a priority is of a thread, and those that V8 has started already kept theirs.
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      setPriority(Number(thread), niceness)
    } catch {
      // It has just ended.
    }
  }
  yieldAsGroup(niceness, 50)
}

/** A session of its own may get a share of its own (autogroup), within which alone the priorities of threads count. */
function yieldAsGroup(niceness: number, tries: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(niceness))
  } catch (error) {
    // Who is not root is let through once in a tenth of a second on the whole machine. Whatever else it is: a kernel
    // without such groups, or a container that may not set them.
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || tries === 0) return
    setTimeout(() => yieldAsGroup(niceness, tries - 1), 100 + Math.random() * 100).unref()
  }
}

function end(): void {
  try {
    // The folder around those of all lanes: nobody is there to remove it any more.
    if (services !== null) rmSync(dirname(services.settings.scratchRoot), { recursive: true, force: true })
  } finally {
    process.kill(process.platform === 'win32' ? process.pid : -process.pid, 'SIGKILL')
  }
}

if (process.send === undefined) throw new Error('a media work process is started by its host, not by hand')
// The host decides when it ends: a signal to the whole group reaches the host too.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('uncaughtException', (error) => {
  send({ type: 'log', level: 'error', fields: { error: describe(error) }, message: 'a media work process failed' })
  setImmediate(() => process.exit(1))
})
process.on('disconnect', end)
process.on('message', (message) => onMessage(message as HostMessage))

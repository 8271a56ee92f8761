/**
 * A work process. It runs the jobs that its host sends over the IPC channel, and replies once a job has stopped completely.
 * When the host is gone, it ends together with every ffmpeg it has started.
 */
import { mkdir, rm } from 'node:fs/promises'
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import { Threads } from '../threads/threads.ts'
import { removeOutputs } from '../outputs.ts'
import type { WorkContext } from './context.ts'
import { lowerPriority } from './priority.ts'
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
  lowerPriority(settings.niceness)
  // Several files with one thread each give more throughput, and use less memory, than one file with several threads.
  sharp.concurrency(1)
  // A cache would not help, because no file is opened twice in a row.
  sharp.cache(false)
  services = { settings, ffmpeg: new Ffmpeg(settings), threads: new Threads(settings.limits) }
  send({ type: 'ready' })
}

async function run(id: number, task: Task, scratch: string): Promise<void> {
  if (services === null) return
  const { settings, ffmpeg, threads } = services
  const controller = new AbortController()
  running.set(id, controller)
  let scratchCreated: Promise<string> | undefined
  const context: WorkContext = {
    limits: settings.limits,
    signal: controller.signal,
    ffmpeg,
    threads,
    scratch: () => (scratchCreated ??= mkdir(scratch, { recursive: true }).then(() => scratch)),
    progress: (progress) => send({ type: 'progress', id, progress }),
  }
  let reply: WorkMessage
  try {
    reply = { type: 'done', id, result: await runTask(task, context) }
  } catch (error) {
    const failure = toMediaWorkError(controller.signal.aborted ? controller.signal.reason : error)
    reply = { type: 'failed', id, code: failure.code, message: failure.message }
    const level = failure.code === 'failed' ? 'warn' : 'debug'
    const fields = { kind: task.kind, code: failure.code, error: describe(failure.code === 'failed' ? error : failure) }
    send({ type: 'log', level, fields, message: 'media work failed' })
  }
  running.delete(id)
  if (reply.type === 'failed') await removeOutputs(task)
  if (scratchCreated !== undefined) await rm(scratch, { recursive: true, force: true })
  send(reply)
}

function toMediaWorkError(error: unknown): MediaWorkError {
  if (error instanceof MediaWorkError) return error
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (code === 'ENOENT') return new MediaWorkError('missing', 'The file or folder does not exist.')
  if (code === 'ENOSPC' || code === 'EDQUOT') return new MediaWorkError('unavailable', 'The disk is full.')
  return new MediaWorkError('failed', 'The file could not be processed.')
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

function end(): void {
  try {
    // Delete the folder of all lanes, because the host can no longer do it.
    if (services !== null) rmSync(dirname(services.settings.scratchRoot), { recursive: true, force: true })
  } finally {
    process.kill(process.platform === 'win32' ? process.pid : -process.pid, 'SIGKILL')
  }
}

if (process.send === undefined) throw new Error('a media work process must be started by its host')
// The host ends this process. A signal to the whole terminal group reaches the host too.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('uncaughtException', (error) => {
  send({ type: 'log', level: 'error', fields: { error: describe(error) }, message: 'a media work process failed' })
  setImmediate(() => process.exit(1))
})
process.on('disconnect', end)
process.on('message', (message) => onMessage(message as HostMessage))

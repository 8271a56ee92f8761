/**
 * The media process: a media node whose host is at the other end of the IPC channel. It exits when the host exits. On an
 * unexpected error it logs the error and exits, and the host starts it again.
 */
import { startMediaNode } from '../node.ts'
import type { MediaLog, MediaNode, PublishDecision, PublishRequest } from '../types.ts'
import type { HostMessage, MediaProcessSettings, ProcessMessage } from './protocol.ts'

/** How long sending the last message may take. */
const LAST_MESSAGE_MS = 500
/** The host requests the status once a second. Other nodes consider it dead a little later than this. */
const HOST_TIMEOUT_MS = 4_000

const decisions = new Map<number, PromiseWithResolvers<PublishDecision>>()
let nextId = 1
let node: MediaNode | null = null
let lastHostMessageAt = performance.now()

function send(message: ProcessMessage, sent: () => void = () => {}): void {
  // A broken channel emits `disconnect`, which ends the process.
  if (process.send !== undefined && process.connected) process.send(message, undefined, {}, sent)
  else sent()
}

function logger(level: keyof MediaLog): MediaLog['info'] {
  return (fields, message) => send({ type: 'log', level, fields, message })
}

const log: MediaLog = { debug: logger('debug'), info: logger('info'), warn: logger('warn'), error: logger('error') }

function exitWith(code: number, lastMessage: ProcessMessage): void {
  setTimeout(() => process.exit(code), LAST_MESSAGE_MS)
  send(lastMessage, () => process.exit(code))
}

function authorizePublish(request: PublishRequest): Promise<PublishDecision> {
  const id = nextId++
  const pending = Promise.withResolvers<PublishDecision>()
  decisions.set(id, pending)
  send({ type: 'authorize', id, request })
  return pending.promise.finally(() => decisions.delete(id))
}

async function start(settings: MediaProcessSettings): Promise<void> {
  try {
    const onEvent = (event: Extract<ProcessMessage, { type: 'event' }>['event']): void => send({ type: 'event', event })
    const isHostAlive = (): boolean => performance.now() - lastHostMessageAt < HOST_TIMEOUT_MS
    node = await startMediaNode({ ...settings, authorizePublish, onEvent, isHostAlive, log })
    const { rtmpPort, whip } = node.status()
    send({ type: 'ready', port: rtmpPort, whipPort: whip?.port ?? null })
  } catch (error) {
    exitWith(1, { type: 'failed', message: error instanceof Error ? error.message : String(error) })
  }
}

function onMessage(message: HostMessage): void {
  lastHostMessageAt = performance.now()
  switch (message.type) {
    case 'start':
      void start(message.settings)
      return
    case 'apply':
      node?.apply(message.stream)
      return
    case 'remove':
      node?.remove(message.streamId)
      return
    case 'retry':
      node?.retry(message.streamId, message.destinationId)
      return
    case 'status':
      if (node !== null) send({ type: 'status', id: message.id, status: node.status() })
      return
    case 'ping':
      send({ type: 'pong' })
      return
    case 'decision':
      if (message.decision === null) decisions.get(message.id)?.reject(new Error('the host could not decide'))
      else decisions.get(message.id)?.resolve(message.decision)
      return
    case 'whip':
      void node?.whip(message.request).then((reply) => send({ type: 'whip', id: message.id, reply }))
      return
    case 'close':
      void Promise.resolve(node?.close()).then(() => process.disconnect())
  }
}

process.on('uncaughtException', (error) => {
  const { name, message, stack } = error
  const fields = { error: { name, message, stack } }
  exitWith(1, { type: 'log', level: 'error', fields, message: 'the media process failed' })
})
// Ignored: a signal to the process group also reaches the host, which drains first and then sends `close`.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('disconnect', () => process.exit(0))
process.on('message', (message) => onMessage(message as HostMessage))
if (process.send === undefined) throw new Error('the media process must be started by its host')

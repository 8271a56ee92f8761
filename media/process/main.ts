/**
 * The media process: a media node whose host is at the other end of the IPC channel. It ends when the host goes away,
 * and it ends, saying why, when anything unexpected happens: the host starts it again.
 */
import { startMediaNode } from '../node.ts'
import type { MediaLog, MediaNode, PublishDecision, PublishRequest } from '../types.ts'
import type { HostMessage, MediaProcessSettings, ProcessMessage } from './protocol.ts'

/** How long the last words may take. */
const LAST_WORDS_MS = 500
/** The host asks for the status once a second. Other nodes take it for gone a little later than this. */
const HOST_SILENCE_MS = 4_000

const decisions = new Map<number, PromiseWithResolvers<PublishDecision>>()
let nextQuestion = 1
let node: MediaNode | null = null
let hostHeardAt = performance.now()

function send(message: ProcessMessage, sent: () => void = () => {}): void {
  // A channel that breaks shows as `disconnect`, which ends the process.
  if (process.send !== undefined && process.connected) process.send(message, undefined, {}, sent)
  else sent()
}

function logger(level: keyof MediaLog): MediaLog['info'] {
  return (fields, message) => send({ type: 'log', level, fields, message })
}

const log: MediaLog = { debug: logger('debug'), info: logger('info'), warn: logger('warn'), error: logger('error') }

function endWith(code: number, lastWords: ProcessMessage): void {
  setTimeout(() => process.exit(code), LAST_WORDS_MS)
  send(lastWords, () => process.exit(code))
}

function authorizePublish(request: PublishRequest): Promise<PublishDecision> {
  const id = nextQuestion++
  const pending = Promise.withResolvers<PublishDecision>()
  decisions.set(id, pending)
  send({ type: 'authorize', id, request })
  return pending.promise.finally(() => decisions.delete(id))
}

async function start(settings: MediaProcessSettings): Promise<void> {
  try {
    const onEvent = (event: Extract<ProcessMessage, { type: 'event' }>['event']): void => send({ type: 'event', event })
    const isHostAlive = (): boolean => performance.now() - hostHeardAt < HOST_SILENCE_MS
    node = await startMediaNode({ ...settings, authorizePublish, onEvent, isHostAlive, log })
    const { rtmpPort, whip } = node.status()
    send({ type: 'ready', port: rtmpPort, whipPort: whip?.port ?? null })
  } catch (error) {
    endWith(1, { type: 'failed', message: error instanceof Error ? error.message : String(error) })
  }
}

function onMessage(message: HostMessage): void {
  hostHeardAt = performance.now()
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
  endWith(1, { type: 'log', level: 'error', fields, message: 'the media process failed' })
})
// The host decides when it ends: a signal to the whole group reaches the host too, which drains first.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('disconnect', () => process.exit(0))
process.on('message', (message) => onMessage(message as HostMessage))
if (process.send === undefined) throw new Error('the media process is started by its host, not by hand')

/**
 * The WHIP process. It runs WebRTC and RTP for all sessions of a media process, which it talks to by IPC. Native code that
 * parses untrusted packets runs only here, so a crash ends WebRTC sessions and nothing else. It must not start processes,
 * because they would inherit the library's sockets.
 */
import type { MediaLog } from '../../types.ts'
import { WhipPeer } from './whip-peer.ts'
import { initLogger, type ConnectionListener } from './rtc.ts'
import { WhepPeer } from './whep-peer.ts'
import { OFFER_REFUSED, type ChildMessage, type ParentMessage } from './protocol.ts'
import type { CodedMedia, WhepOffer, WhipChildSettings, WhipOffer } from './protocol.ts'
import { checkPort } from '../udp-port.ts'

const TICK_MS = 20
const REPORT_MS = 1_000
/** Time to write the last message before the process exits. */
const EXIT_TIMEOUT_MS = 500

const publishers = new Map<string, WhipPeer>()
const viewers = new Map<string, WhepPeer>()
let settings: WhipChildSettings | null = null
let started = Promise.resolve()
let ticker: NodeJS.Timeout | undefined
let reportedAt = 0

function send(message: ChildMessage, sent: () => void = () => {}): void {
  // If the channel breaks, `disconnect` is emitted, which ends the process.
  if (process.send !== undefined && process.connected) process.send(message, undefined, {}, sent)
  else sent()
}

function log(level: keyof MediaLog, fields: object, message: string): void {
  send({ type: 'log', level, fields, message })
}

/** Sends a last message, then exits. */
function exitWith(message: ChildMessage): void {
  setTimeout(() => process.exit(1), EXIT_TIMEOUT_MS)
  send(message, () => process.exit(1))
}

/** Checks the port and sets the settings. Offers are handled after it. */
async function start(given: WhipChildSettings): Promise<void> {
  try {
    await checkPort(given.host, given.port)
  } catch (error) {
    exitWith({ type: 'failed', message: (error as Error).message })
    return
  }
  settings = given
  initLogger('Error', (level, message) =>
    log('debug', { level, detail: message }, 'the WebRTC library logged an error'),
  )
  send({ type: 'ready' })
}

/** Opens a session. @param create throws if the WebRTC library rejects the offer */
function open<T extends WhipPeer | WhepPeer>(
  session: string,
  sessions: Map<string, T>,
  create: (settings: WhipChildSettings, listener: ConnectionListener) => T,
): void {
  if (settings === null) return
  let ended = false
  const onEnd = (reason: string): void => {
    ended = true
    const tracks = publishers.get(session)?.reception()
    sessions.delete(session)
    if (publishers.size + viewers.size === 0) clearInterval(ticker)
    log('debug', { sessionId: session, reason, tracks }, 'whip peer ended')
    send({ type: 'ended', session, reason })
  }
  try {
    const opened = create(settings, {
      onAnswer: (sdp) => send({ type: 'answer', session, sdp }),
      onConnected: () => send({ type: 'connected', session }),
      onEnd,
    })
    if (ended) return
    if (publishers.size + viewers.size === 0) ticker = setInterval(tick, TICK_MS)
    sessions.set(session, opened)
  } catch (error) {
    log('warn', { sessionId: session, error: (error as Error).message }, 'the WebRTC library rejected an offer')
    send({ type: 'ended', session, reason: OFFER_REFUSED })
  }
}

function publish(session: string, offer: WhipOffer): void {
  const onMedia = (media: CodedMedia): void => send({ type: 'media', session, media })
  const create = (given: WhipChildSettings, listener: ConnectionListener): WhipPeer =>
    new WhipPeer({ session, offer, settings: given, onMedia, ...listener })
  open(session, publishers, create)
}

function watch(session: string, offer: WhepOffer): void {
  open(session, viewers, (given, listener) => new WhepPeer({ session, offer, settings: given, ...listener }))
}

function close(session: string): void {
  const peer = publishers.get(session) ?? viewers.get(session)
  peer?.end('closed by the server')
}

/** Runs code that a peer's media can make throw. An error ends that peer's session and no other. */
function isolate(session: string, peer: WhipPeer | WhepPeer, run: () => void): void {
  try {
    run()
  } catch (error) {
    const { message, stack } = error as Error
    log('error', { sessionId: session, error: { message, stack } }, 'a WebRTC session failed')
    peer.end(`session failed: ${message}`)
  }
}

function tick(): void {
  const now = performance.now()
  for (const [session, peer] of [...publishers, ...viewers]) isolate(session, peer, () => peer.tick(now))
  if (now - reportedAt < REPORT_MS) return
  reportedAt = now
  for (const [session, publisher] of publishers) send({ type: 'reception', session, tracks: publisher.reception() })
}

function onMessage(message: ParentMessage): void {
  switch (message.type) {
    case 'start':
      started = start(message.settings)
      return
    case 'publish':
      void started.then(() => publish(message.session, message.offer))
      return
    case 'watch':
      void started.then(() => watch(message.session, message.offer))
      return
    case 'frame': {
      const viewer = viewers.get(message.session)
      if (viewer) isolate(message.session, viewer, () => viewer.sendFrame(message.frame, performance.now()))
      return
    }
    case 'ping':
      send({ type: 'pong' })
      return
    case 'close':
      void started.then(() => close(message.session))
  }
}

process.on('uncaughtException', ({ message, name, stack }) => {
  exitWith({
    type: 'log',
    level: 'error',
    fields: { error: { name, message, stack } },
    message: 'the WHIP process failed',
  })
})
// The media process ends this process by closing the channel, so signals to the process group are ignored.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('disconnect', () => process.exit(0))
process.on('message', (message) => onMessage(message as ParentMessage))
if (process.send === undefined) throw new Error('the WHIP process must be started by the media process')

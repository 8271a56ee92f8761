/**
 * The WHIP process: WebRTC and RTP for all sessions of a media process, which is at the other end of the IPC channel.
 * Native code that reads what strangers send runs here and nowhere else: when it dies, its sessions end, and no more.
 * It starts no process: the sockets of its library are handed down to children.
 */
import type { MediaLog } from '../../types.ts'
import { Peer } from './peer.ts'
import { initLogger, type ConnectionListener } from './rtc.ts'
import { Viewer } from './viewer.ts'
import { OFFER_REFUSED, type ChildMessage, type ParentMessage } from './protocol.ts'
import type { CodedMedia, SessionOffer, WatchOffer, WhipChildSettings } from './protocol.ts'
import { checkPort } from '../udp-port.ts'

const TICK_MS = 20
const REPORT_MS = 1_000
const LAST_WORDS_MS = 500

const peers = new Map<string, Peer>()
const viewers = new Map<string, Viewer>()
let settings: WhipChildSettings | null = null
let started = Promise.resolve()
let ticker: NodeJS.Timeout | undefined
let reportedAt = 0

function send(message: ChildMessage, sent: () => void = () => {}): void {
  // A channel that breaks shows as `disconnect`, which ends the process.
  if (process.send !== undefined && process.connected) process.send(message, undefined, {}, sent)
  else sent()
}

function log(level: keyof MediaLog, fields: object, message: string): void {
  send({ type: 'log', level, fields, message })
}

function endWith(lastWords: ChildMessage): void {
  setTimeout(() => process.exit(1), LAST_WORDS_MS)
  send(lastWords, () => process.exit(1))
}

/** Offers wait for it. */
async function start(given: WhipChildSettings): Promise<void> {
  try {
    await checkPort(given.host, given.port)
  } catch (error) {
    endWith({ type: 'failed', message: (error as Error).message })
    return
  }
  settings = given
  initLogger('Error', (level, message) => log('debug', { level, said: message }, 'the WebRTC library complains'))
  send({ type: 'ready' })
}

/** Opens a session. @param create throws when the stack does not take the offer */
function open<T extends Peer | Viewer>(
  session: string,
  among: Map<string, T>,
  create: (settings: WhipChildSettings, listener: ConnectionListener) => T,
): void {
  if (settings === null) return
  let ended = false
  const onEnd = (reason: string): void => {
    ended = true
    const tracks = peers.get(session)?.reception()
    among.delete(session)
    if (peers.size + viewers.size === 0) clearInterval(ticker)
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
    if (peers.size + viewers.size === 0) ticker = setInterval(tick, TICK_MS)
    among.set(session, opened)
  } catch (error) {
    log('warn', { sessionId: session, error: (error as Error).message }, 'an offer was not taken')
    send({ type: 'ended', session, reason: OFFER_REFUSED })
  }
}

function publish(session: string, offer: SessionOffer): void {
  const onMedia = (media: CodedMedia): void => send({ type: 'media', session, media })
  open(session, peers, (given, listener) => new Peer({ session, offer, settings: given, onMedia, ...listener }))
}

function watch(session: string, offer: WatchOffer): void {
  open(session, viewers, (given, listener) => new Viewer({ session, offer, settings: given, ...listener }))
}

function close(session: string): void {
  const one = peers.get(session) ?? viewers.get(session)
  one?.end('closed by the server')
}

/** Runs what a peer's media can make fail. An error ends that peer and no other. */
function contain(session: string, one: Peer | Viewer, run: () => void): void {
  try {
    run()
  } catch (error) {
    const { message, stack } = error as Error
    log('error', { sessionId: session, error: { message, stack } }, 'a WebRTC session failed')
    one.end(`session failed: ${message}`)
  }
}

function tick(): void {
  const now = performance.now()
  for (const [session, one] of [...peers, ...viewers]) contain(session, one, () => one.tick(now))
  if (now - reportedAt < REPORT_MS) return
  reportedAt = now
  for (const [session, peer] of peers) send({ type: 'reception', session, tracks: peer.reception() })
}

function onMessage(message: ParentMessage): void {
  switch (message.type) {
    case 'start':
      started = start(message.settings)
      return
    case 'offer':
      void started.then(() => publish(message.session, message.offer))
      return
    case 'watch':
      void started.then(() => watch(message.session, message.offer))
      return
    case 'show': {
      const viewer = viewers.get(message.session)
      if (viewer) contain(message.session, viewer, () => viewer.show(message.shown, performance.now()))
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
  endWith({
    type: 'log',
    level: 'error',
    fields: { error: { name, message, stack } },
    message: 'the WHIP process failed',
  })
})
// The media process decides when it ends.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('disconnect', () => process.exit(0))
process.on('message', (message) => onMessage(message as ParentMessage))
if (process.send === undefined) throw new Error('the WHIP process is started by the media process, not by hand')

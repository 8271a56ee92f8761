/**
 * The WHIP process: WebRTC and RTP for all sessions of a media process, which is at the other end of the IPC channel.
 * Native code that reads what strangers send runs here and nowhere else: when it dies, its sessions end, and no more.
 * It starts no process: the sockets of its library are handed down to children.
 */
import { initLogger } from 'node-datachannel'
import type { MediaLog } from '../../types.ts'
import { Peer } from './peer.ts'
import { OFFER_REFUSED, type ChildMessage, type ParentMessage } from './protocol.ts'
import type { SessionOffer, WhipChildSettings } from './protocol.ts'
import { checkPort } from '../udp-port.ts'

const TICK_MS = 20
const REPORT_MS = 1_000
const LAST_WORDS_MS = 500

const peers = new Map<string, Peer>()
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

function open(session: string, offer: SessionOffer): void {
  if (settings === null) return
  const onEnd = (reason: string): void => {
    const tracks = peers.get(session)?.reception()
    peers.delete(session)
    if (peers.size === 0) clearInterval(ticker)
    log('debug', { sessionId: session, reason, tracks }, 'whip peer ended')
    send({ type: 'ended', session, reason })
  }
  try {
    const peer = new Peer({
      session,
      offer,
      settings,
      onAnswer: (sdp) => send({ type: 'answer', session, sdp }),
      onConnected: () => send({ type: 'connected', session }),
      onMedia: (media) => send({ type: 'media', session, media }),
      onEnd,
    })
    if (peers.size === 0) ticker = setInterval(tick, TICK_MS)
    peers.set(session, peer)
  } catch (error) {
    log('warn', { sessionId: session, error: (error as Error).message }, 'an offer was not taken')
    send({ type: 'ended', session, reason: OFFER_REFUSED })
  }
}

function tick(): void {
  const now = performance.now()
  for (const peer of peers.values()) peer.tick(now)
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
      void started.then(() => open(message.session, message.offer))
      return
    case 'close':
      void started.then(() => peers.get(message.session)?.end('closed by the server'))
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

import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket, type SecureContext } from 'node:tls'
import { listenOn } from '../listen.ts'
import type { MediaLog } from '../types.ts'

export interface RtmpsSettings {
  /** 0 takes a free one. */
  readonly port: number
  /** PEM: the certificate, with the chain behind it. */
  readonly certPath: string
  /** PEM. */
  readonly keyPath: string
  /** How often the files are looked at, milliseconds; 5,000 by default. */
  readonly reloadMs?: number
}

export interface TlsListenerOptions extends RtmpsSettings {
  readonly host: string
  /** From accept to the end of the TLS handshake. */
  readonly handshakeTimeoutMs: number
  readonly log: MediaLog
  /** Asked for every TCP connection, before a byte of TLS is worked on; false refuses it. */
  readonly admitSocket: (socket: Socket) => boolean
  /** A connection whose handshake is done. */
  readonly onSocket: (socket: Socket) => void
  /** A connection that was admitted has ended before its handshake was done. */
  readonly onAbandoned: (remoteAddress: string) => void
}

export interface TlsListener {
  readonly port: number
  close(): Promise<void>
}

const RELOAD_MS = 5_000

/**
 * Takes TLS connections. New ones get the certificate that the files hold by then: when they change they are read anew,
 * and when what they hold does not fit together, what was there before stays.
 *
 * @throws Error when the files cannot be used, or the port cannot be had.
 */
export async function startTlsListener(options: TlsListenerOptions): Promise<TlsListener> {
  const { admitSocket, certPath, handshakeTimeoutMs, host, keyPath, log, onAbandoned, onSocket } = options
  let secureContext = await readContext(options)
  const pending = new Set<TLSSocket>()

  const server = createServer({ noDelay: true }, (raw) => {
    if (!admitSocket(raw)) {
      raw.destroy()
      return
    }
    const remoteAddress = raw.remoteAddress ?? ''
    const socket = new TLSSocket(raw, { isServer: true, secureContext })
    const timer = setTimeout(() => socket.destroy(), handshakeTimeoutMs)
    const onError = (error: Error): void => {
      log.debug({ remoteAddress, error: error.message }, 'tls handshake failed')
      socket.destroy()
    }
    const onClose = (): void => {
      clearTimeout(timer)
      pending.delete(socket)
      onAbandoned(remoteAddress)
    }
    pending.add(socket)
    raw.on('error', () => socket.destroy())
    socket.on('error', onError)
    socket.once('close', onClose)
    socket.once('secure', () => {
      clearTimeout(timer)
      pending.delete(socket)
      socket.off('close', onClose)
      // From here on it is a connection like any other, and its errors end as a close.
      socket.off('error', onError)
      socket.on('error', () => socket.destroy())
      onSocket(socket)
    })
  })
  const port = await listenOn(server, host, options.port, { port: 'RTMPS_PORT', host: 'RTMP_HOST' })
  server.on('error', (error) => log.error({ error: error.message }, 'rtmps listener failed'))

  const reread = async (): Promise<void> => {
    try {
      secureContext = await readContext(options)
      log.info({ certPath }, 'rtmps certificate read anew')
    } catch (error) {
      log.error({ certPath, error: (error as Error).message }, 'rtmps certificate cannot be used; the old one stays')
    }
  }
  const reload = (): void => void reread()
  const watching = { interval: options.reloadMs ?? RELOAD_MS, persistent: false }
  for (const path of [certPath, keyPath]) watchFile(path, watching, reload)

  return {
    port,
    async close() {
      for (const path of [certPath, keyPath]) unwatchFile(path, reload)
      for (const socket of pending) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function readContext({ certPath, keyPath }: RtmpsSettings): Promise<SecureContext> {
  try {
    const [cert, key] = await Promise.all([readFile(certPath), readFile(keyPath)])
    return createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
  } catch (error) {
    throw new Error(`The certificate for RTMPS cannot be used: ${(error as Error).message}`, { cause: error })
  }
}

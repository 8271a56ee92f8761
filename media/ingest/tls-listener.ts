import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { createSecureContext, TLSSocket, type SecureContext } from 'node:tls'
import { listenOn } from '../listen.ts'
import type { MediaLog } from '../types.ts'

export interface RtmpsSettings {
  /** 0 selects a free port. */
  readonly port: number
  /** PEM file with the certificate, followed by its chain. */
  readonly certPath: string
  /** PEM file with the private key. */
  readonly keyPath: string
  /** How often the files are checked for changes, milliseconds; 5,000 by default. */
  readonly reloadMs?: number
}

export interface TlsListenerOptions extends RtmpsSettings {
  readonly host: string
  /** From accept to the end of the TLS handshake. */
  readonly handshakeTimeoutMs: number
  readonly log: MediaLog
  /** Called for each TCP connection before the TLS handshake. False rejects it. */
  readonly admitSocket: (socket: Socket) => boolean
  /** Called when the handshake of a connection is complete. */
  readonly onSocket: (socket: Socket) => void
  /** Called when an accepted connection ended before its handshake was complete. */
  readonly onHandshakeFailed: (remoteAddress: string) => void
}

export interface TlsListener {
  readonly port: number
  close(): Promise<void>
}

const RELOAD_MS = 5_000

/**
 * Listens for TLS connections. The certificate is reloaded when its files change. If the new files are invalid, the old
 * certificate stays in use.
 *
 * @throws Error when it cannot load the files or cannot listen.
 */
export async function startTlsListener(options: TlsListenerOptions): Promise<TlsListener> {
  const { admitSocket, certPath, handshakeTimeoutMs, host, keyPath, log, onHandshakeFailed, onSocket } = options
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
      onHandshakeFailed(remoteAddress)
    }
    pending.add(socket)
    raw.on('error', () => socket.destroy())
    socket.on('error', onError)
    socket.once('close', onClose)
    socket.once('secure', () => {
      clearTimeout(timer)
      pending.delete(socket)
      socket.off('close', onClose)
      // Later errors only close the connection.
      socket.off('error', onError)
      socket.on('error', () => socket.destroy())
      onSocket(socket)
    })
  })
  const port = await listenOn(server, host, options.port, { port: 'RTMPS_PORT', host: 'RTMP_HOST' })
  server.on('error', (error) => log.error({ error: error.message }, 'rtmps listener failed'))

  const reload = async (): Promise<void> => {
    try {
      secureContext = await readContext(options)
      log.info({ certPath }, 'rtmps certificate reloaded')
    } catch (error) {
      log.error({ certPath, error: (error as Error).message }, 'cannot load the rtmps certificate, keeping the old one')
    }
  }
  const onChange = (): void => void reload()
  const watching = { interval: options.reloadMs ?? RELOAD_MS, persistent: false }
  for (const path of [certPath, keyPath]) watchFile(path, watching, onChange)

  return {
    port,
    async close() {
      for (const path of [certPath, keyPath]) unwatchFile(path, onChange)
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
    throw new Error(`Cannot load the RTMPS certificate: ${(error as Error).message}`, { cause: error })
  }
}

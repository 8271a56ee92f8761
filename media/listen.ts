import { once } from 'node:events'
import type { Server } from 'node:net'

/** Names of the settings that an address to listen on comes from. */
export interface ListenSettings {
  readonly port: string
  /** Absent if the host is always the same. */
  readonly host?: string
  /** How many ports are used, from the one of the setting on; 1 when absent. */
  readonly count?: number
}

/**
 * Listens on a port.
 *
 * @param settings the settings that an operator changes to use another address
 * @returns the port that was bound
 * @throws Error that names the setting to change, when the address cannot be used
 */
export async function listenOn(server: Server, host: string, port: number, settings: ListenSettings): Promise<number> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw listenError(error, { host, port, settings })
  }
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : port
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
  readonly settings: ListenSettings
}

/** Turns an error of `listen` into one for the operator. Errors without a known code are returned unchanged. */
export function listenError(error: unknown, { host, port, settings }: ListenAddress): Error {
  const { code } = error as NodeJS.ErrnoException
  const text = explain(code, host, port, settings)
  return text === undefined ? (error as Error) : new Error(`${text} (${code})`, { cause: error })
}

function wanted({ count = 1 }: ListenSettings): string {
  return count === 1 ? 'a free one' : `the first of ${count} free ports in a row, or to 0`
}

function explain(code: string | undefined, host: string, port: number, settings: ListenSettings): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is taken: set ${settings.port} to ${wanted(settings)}`
    case 'EACCES':
      return `this user may not bind port ${port}: set ${settings.port} to 1024 or higher, or allow the user to bind low ports`
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine${settings.host === undefined ? '' : `: set ${settings.host} to one of its addresses`}`
    default:
      return undefined
  }
}

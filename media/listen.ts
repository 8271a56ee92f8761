import { once } from 'node:events'
import type { Server } from 'node:net'

/** Which settings choose an address to listen on. */
export interface ListenSettings {
  readonly port: string
  readonly host: string
}

/**
 * @param settings what an operator sets to have another address
 * @returns the port that was bound
 * @throws Error that says what to change, when it cannot be had
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

/** What an operator is told when an address cannot be listened on. Errors without a known code are returned as they are. */
export function listenError(error: unknown, { host, port, settings }: ListenAddress): Error {
  const { code } = error as NodeJS.ErrnoException
  const text = explain(code, host, port, settings)
  return text === undefined ? (error as Error) : new Error(`${text} (${code})`, { cause: error })
}

function explain(code: string | undefined, host: string, port: number, settings: ListenSettings): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is taken: set ${settings.port} to a free one`
    case 'EACCES':
      return `this user may not open port ${port}: set ${settings.port} to one from 1024 on, or allow it to bind low ports`
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine: set ${settings.host} to one that is`
    default:
      return undefined
  }
}

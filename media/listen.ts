import { once } from 'node:events'
import type { Server } from 'node:net'

/**
 * @param setting what an operator sets to have another port
 * @returns the port that was bound
 * @throws Error when it cannot be had
 */
export async function listenOn(server: Server, host: string, port: number, setting: string): Promise<number> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new Error(`port ${port} on ${host} is taken: set ${setting} to a free one`, { cause: error })
  }
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : port
}

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Linux gives outgoing connections local ports from 32768 up, macOS and Windows from 49152. A server that comes back on
 * its old port must not find it taken by one of those (a client that keeps trying to reach it on loopback can even
 * connect to itself), so we choose below.
 */
const LOWEST = 15_000
const HIGHEST = 32_000

/**
 * A TCP port that nobody listens on at 127.0.0.1 at this moment. Another process can still take it before the caller
 * does: be ready to ask again.
 *
 * @throws {Error} when 100 random ports were all taken
 */
export async function freeLoopbackPort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(LOWEST, HIGHEST)
    if (await canListen(port)) return port
  }
  throw new Error(`no free TCP port on 127.0.0.1 between ${LOWEST} and ${HIGHEST}`)
}

function canListen(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(false)
      else reject(error)
    })
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

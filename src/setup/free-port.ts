import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Linux uses local ports from 32768 up for outgoing connections, macOS and Windows from 49152. A restarted server must
 * find its old port free (a client that keeps trying to reach it on loopback can even connect to itself), so we choose
 * a lower port.
 */
const LOWEST = 15_000
const HIGHEST = 32_000

/**
 * A TCP port that is free at 127.0.0.1 at the moment. Another process may still take it before the caller does, so be
 * ready to call this again.
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

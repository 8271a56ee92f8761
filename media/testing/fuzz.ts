import { once } from 'node:events'
import { connect } from 'node:net'
import { createRandom, mutatedSession } from './mutate.ts'

/** Sends damaged sessions to a server, each from beginning to end, `atOnce` of them at a time. */
export async function attackMany(port: number, count: number, seed: number, atOnce = 40): Promise<void> {
  const random = createRandom(seed)
  let left = count
  const worker = async (): Promise<void> => {
    while (left-- > 0) await attack(port, mutatedSession(random))
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/** Sends all of it at once and waits until the server is done with it. */
async function attack(port: number, bytes: Buffer): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.resume()
  socket.end(bytes)
  await closed.catch(() => {})
}

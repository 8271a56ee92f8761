import { once } from 'node:events'
import { connect } from 'node:net'
import { createRandom, mutatedSession } from './mutate.ts'

/** Sends malformed sessions to a server, `concurrency` of them at a time. */
export async function fuzz(port: number, count: number, seed: number, concurrency = 40): Promise<void> {
  const random = createRandom(seed)
  let left = count
  const worker = async (): Promise<void> => {
    while (left-- > 0) await sendAndWait(port, mutatedSession(random))
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

/** Sends the bytes and waits until the server closes the connection. */
async function sendAndWait(port: number, bytes: Buffer): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.resume()
  socket.end(bytes)
  await closed.catch(() => {})
}

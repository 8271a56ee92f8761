import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Raw connections to the server's port, to send what no HTTP client would. */

/**
 * A connection whose errors are ignored, because the server can close it at any time.
 * @param localAddress the source address
 */
export async function openConnection(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  return socket
}

/** Sends bytes and returns everything received until the server closes the connection. */
export async function exchangeBytes(port: number, bytes: string | Uint8Array): Promise<string> {
  const socket = await openConnection(port)
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  socket.write(bytes)
  if (!socket.closed) await once(socket, 'close')
  return Buffer.concat(received).toString()
}

import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { withSharedReadBuffer } from './shared-read-buffer.ts'

test('accepted sockets share one read buffer, and pause, resume, write and end as usual', async () => {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (accepted) => {
    const socket = withSharedReadBuffer(accepted)
    // If this fails, Node has moved `_handle`, and each read allocates a buffer again.
    expect(socket).not.toBe(accepted)
    sockets.push(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const peers = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  await waitFor(() => sockets.length === 2)
  const received = ['', '']
  const memory = new Set<ArrayBufferLike>()
  for (const [index, socket] of sockets.entries()) {
    socket.on('data', (bytes: Buffer) => {
      received[index] += bytes.toString()
      memory.add(bytes.buffer)
    })
  }
  const [one, other] = sockets as [Socket, Socket]
  const of = (socket: Socket) => peers[peers.findIndex((peer) => peer.localPort === socket.remotePort)]!
  of(one).write('one')
  of(other).write('other')
  await waitFor(() => received.join() === 'one,other')
  expect(memory.size).toBe(1)

  one.pause()
  of(one).write(' more')
  of(other).write(' more')
  await waitFor(() => received[1] === 'other more')
  expect(received[0]).toBe('one')
  one.resume()
  await waitFor(() => received[0] === 'one more')

  one.write('answer')
  const [answer] = (await once(of(one), 'data')) as [Buffer]
  expect(answer.toString()).toBe('answer')
  const ended = once(one, 'end')
  of(one).end()
  await ended
  const closed = Promise.all(peers.map((peer) => once(peer, 'close')))
  for (const socket of sockets) socket.destroy()
  await closed
  server.close()
})

import { Socket } from 'node:net'

/** What one read takes at most. A little less than the 64 KiB that Node asks for by itself: see `maxUnadmittedBytes`. */
const READ_BYTES = 61_440

/** All sockets read into this: what was read is worked through, or copied, before there is another read. */
const target = Buffer.allocUnsafeSlow(READ_BYTES)

/**
 * The same connection as a socket whose `data` events bring views of one piece of memory, which hold until the event is
 * over. For every read Node otherwise allocates 64 KiB and takes the bytes through a stream, which costs an ingest more
 * than all that it does with them. What avoids it, `onread`, is an option of sockets that connect and not of those that
 * a server accepts; so the handle is moved to a socket made here, as Node does itself to move one to another thread.
 * `_handle` is not documented: where it is missing, the socket is returned as it is.
 *
 * @param accepted nobody listens to it yet
 */
export function withSharedReads(accepted: Socket): Socket {
  const { _handle: handle } = accepted as { _handle?: object | null }
  if (handle === undefined || handle === null) return accepted
  Object.assign(accepted, { _handle: null })
  accepted.destroy()
  const callback = (bytes: number): boolean => socket.emit('data', target.subarray(0, bytes))
  const options = { handle, onread: { buffer: target, callback } }
  const socket = new Socket(options as object)
  return socket
}

import { Socket } from 'node:net'

/** Bytes of one read. Less than the 64 KiB of Node's default, so that a read fits in `maxUnadmittedBytes`. */
const READ_BYTES = 61_440

/** The buffer of all sockets. Bytes are processed or copied before the next read. */
const target = Buffer.allocUnsafeSlow(READ_BYTES)

/**
 * Returns a socket for the same connection whose `data` events use one shared buffer. The bytes are valid only during the
 * event. By default Node allocates 64 KiB per read and passes the bytes through a stream, which costs an ingest more CPU
 * time than everything else. The option `onread` avoids that, but only for outgoing sockets. So the handle is moved to a
 * new socket, as Node itself does to move one to another process. `_handle` is not documented; if it is missing, the
 * socket is returned unchanged.
 *
 * @param accepted a socket without listeners
 */
export function withSharedReadBuffer(accepted: Socket): Socket {
  const { _handle: handle } = accepted as { _handle?: object | null }
  if (handle === undefined || handle === null) return accepted
  Object.assign(accepted, { _handle: null })
  accepted.destroy()
  const callback = (bytes: number): boolean => socket.emit('data', target.subarray(0, bytes))
  const options = { handle, onread: { buffer: target, callback } }
  const socket = new Socket(options as object)
  return socket
}

import { createHmac, timingSafeEqual } from 'node:crypto'
import { FrameError, TYPE, VERSION } from './frames.ts'

/**
 * Two nodes prove to each other that they know the cluster secret before anything else is read:
 *
 *   server → client  hello    version, server nonce
 *   client → server  auth     client nonce, HMAC("client", server nonce, client nonce)
 *   server → client  welcome  HMAC("server", client nonce, server nonce)
 *
 * Both nonces are new for each connection, so recorded frames are useless later. The roles are part of the HMAC, so a frame
 * cannot be reflected to its sender.
 */
const NONCE = 32
const MAC = 32

/** The longest frame before authentication. */
export const LONGEST_HANDSHAKE_FRAME = 128

type Role = 'client' | 'server'

function mac(secret: string, role: Role, one: Uint8Array, other: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`crier link ${VERSION} ${role}\n`).update(one).update(other).digest()
}

export function encodeHello(nonce: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([TYPE.hello, VERSION]), nonce])
}

/** @returns the server's nonce @throws FrameError */
export function decodeHello(frame: Buffer): Buffer {
  if (frame[0] !== TYPE.hello || frame.length !== 2 + NONCE) throw new FrameError('no hello')
  if (frame[1] !== VERSION) throw new FrameError(`version ${frame[1]} of the link protocol is not supported`)
  return frame.subarray(2)
}

export function encodeAuth(secret: string, serverNonce: Uint8Array, clientNonce: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([TYPE.auth]), clientNonce, mac(secret, 'client', serverNonce, clientNonce)])
}

/** @returns the client's nonce @throws FrameError when the client does not know the secret */
export function checkAuth(secret: string, serverNonce: Uint8Array, frame: Buffer): Buffer {
  if (frame[0] !== TYPE.auth || frame.length !== 1 + NONCE + MAC) throw new FrameError('no proof of the secret')
  const clientNonce = frame.subarray(1, 1 + NONCE)
  if (!timingSafeEqual(frame.subarray(1 + NONCE), mac(secret, 'client', serverNonce, clientNonce))) {
    throw new FrameError('the peer does not know the secret of this cluster')
  }
  return clientNonce
}

export function encodeWelcome(secret: string, serverNonce: Uint8Array, clientNonce: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([TYPE.welcome]), mac(secret, 'server', clientNonce, serverNonce)])
}

/** @throws FrameError when the server does not know the secret */
export function checkWelcome(secret: string, serverNonce: Uint8Array, clientNonce: Uint8Array, frame: Buffer): void {
  if (frame[0] !== TYPE.welcome || frame.length !== 1 + MAC) throw new FrameError('no welcome')
  if (!timingSafeEqual(frame.subarray(1), mac(secret, 'server', clientNonce, serverNonce))) {
    throw new FrameError('the peer does not know the secret of this cluster')
  }
}

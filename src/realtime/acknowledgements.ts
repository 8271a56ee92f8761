import type { CallReply } from '../core/socket-calls.ts'
import type { UserSocket } from './connected-users.ts'

/** The methods used of the uWebSockets.js socket behind a connection. */
interface WebSocketLike {
  cork(work: () => void): unknown
  send(message: string): unknown
}

/** Acknowledges one message of a client. */
export type Acknowledge = (answer: CallReply | object) => void

/**
 * Makes a socket write acknowledgements itself. A body that is already JSON is sent as it is, while socket.io would
 * parse it, search it for binary data and serialize it again. The acknowledgement and all pending data are sent in one
 * system call.
 */
export function acknowledgeAsText(socket: UserSocket): void {
  const own = socket as unknown as { ack(packetId: number): Acknowledge }
  const whole = own.ack.bind(socket)
  own.ack = (packetId) => (answer) => {
    const text = textOf(answer)
    if (text === undefined) whole(packetId)(answer)
    // 3: an acknowledgement of socket.io, in its default namespace.
    else write(socket, `3${packetId}[${text}]`)
  }
}

/** The acknowledgement as JSON. Undefined when it contains bytes. */
function textOf(answer: Partial<CallReply>): string | undefined {
  const { body, headers, json, status } = answer
  if (body instanceof Uint8Array) return undefined
  return json === undefined
    ? JSON.stringify(answer)
    : `{"status":${status},"headers":${JSON.stringify(headers)},"body":${json}}`
}

function write({ conn, connected }: UserSocket, packet: string): void {
  if (!connected || conn.readyState !== 'open') return
  const { name, socket } = conn.transport as unknown as { name: string; socket: WebSocketLike }
  // 4: a message of engine.io.
  if (name === 'websocket') socket.cork(() => void socket.send(`4${packet}`))
  else conn.write(packet)
}

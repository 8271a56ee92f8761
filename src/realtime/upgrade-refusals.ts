/** What is used of a response of uWebSockets.js. */
interface RefusedResponse {
  onAborted(listener: () => void): unknown
  cork(work: () => void): unknown
  writeStatus(status: string): unknown
  writeHeader(name: string, value: string): unknown
  end(body: string, close: boolean): unknown
}

type Refuse = (response: RefusedResponse, code: number, context?: { readonly message?: string }) => void

/** engine.io's words for its numbers. */
const MESSAGES: Readonly<Record<number, string>> = {
  0: 'Transport unknown',
  1: 'Session ID unknown',
  2: 'Bad handshake method',
  3: 'Bad request',
  4: 'Forbidden',
  5: 'Unsupported protocol version',
}

/** An origin that may not connect, or a server that is full. */
const FORBIDDEN = 4

/**
 * Has engine.io refuse a WebSocket so that the connection ends. It answers at once, and a client that sends many such
 * requests on one connection without reading fills memory with the answers. As long as an answer waits, uWS ends a
 * connection on which another request comes.
 * @param server the engine on uWebSockets.js, whose types socket.io does not tell
 */
export function refuseOnce(server: object): void {
  const engine = server as { abortRequest: Refuse }
  const refuseAtOnce = engine.abortRequest.bind(engine)
  engine.abortRequest = (response, code, context) => {
    // A poller's response, which engine.io has wrapped.
    if (!('upgrade' in response)) {
      refuseAtOnce(response, code, context)
      return
    }
    let isAborted = false
    response.onAborted(() => {
      isAborted = true
    })
    setImmediate(() => {
      if (isAborted) return
      response.cork(() => {
        response.writeStatus(code === FORBIDDEN ? '403 Forbidden' : '400 Bad Request')
        response.writeHeader('Content-Type', 'application/json')
        response.end(JSON.stringify({ code, message: context?.message ?? MESSAGES[code] }), true)
      })
    })
  }
}

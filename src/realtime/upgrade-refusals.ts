/** The methods used of a uWebSockets.js response. */
interface RefusedResponse {
  onAborted(listener: () => void): unknown
  cork(work: () => void): unknown
  writeStatus(status: string): unknown
  writeHeader(name: string, value: string): unknown
  end(body: string, close: boolean): unknown
}

type Refuse = (response: RefusedResponse, code: number, context?: { readonly message?: string }) => void

/** engine.io's messages by code. */
const MESSAGES: Readonly<Record<number, string>> = {
  0: 'Transport unknown',
  1: 'Session ID unknown',
  2: 'Bad handshake method',
  3: 'Bad request',
  4: 'Forbidden',
  5: 'Unsupported protocol version',
}

/** The origin may not connect, or the server is full. */
const FORBIDDEN = 4

/**
 * Makes engine.io close the connection when it refuses a WebSocket, and reply in the next turn of the event loop. By
 * default it replies at once, and a client that sends many such requests without reading fills memory with replies.
 * While a reply is pending, uWS closes a connection that sends another request.
 * @param server the engine on uWebSockets.js, for which socket.io has no types
 */
export function refuseOnce(server: object): void {
  const engine = server as { abortRequest: Refuse }
  const refuseAtOnce = engine.abortRequest.bind(engine)
  engine.abortRequest = (response, code, context) => {
    // The response to a polling client, which engine.io has wrapped.
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
